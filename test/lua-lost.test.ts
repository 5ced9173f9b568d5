// docs/concurrency.md, Lost tasks: a task that nothing can resume is settled, with the place where it waits.
import { errorOf, LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start();
  await lua.load(
    'lost.lua',
    `local uv = require "luv"
local kept, ticker
local bodies = {
  dropped = function() panto.async.await(function() end) end,
  raw = function() coroutine.yield() end,
  nested = function()
    return coroutine.wrap(function()
      panto.async.await(function() end)
    end)()
  end,
  kept = function() return panto.async.await(function(resume) kept = resume end) end,
  wake = function() kept("woken") return "ok" end,
  slept = function() panto.async.sleep(0.5) return "slept" end,
  timer = function()
    return panto.async.await(function(resume)
      local timer = uv.new_timer()
      timer:start(500, 0, function() timer:close() resume("timer") end)
    end)
  end,
  start_ticker = function() ticker = uv.new_timer() ticker:start(50, 50, function() end) end,
  stop_ticker = function() ticker:close() end,
  child = function() panto.async.spawn(function() panto.async.await(function() end) end) end,
}
return { name = "lost", description = "d", schema = { type = "object" }, handler = function(input) return bodies[input.body]() end }
`,
  );
});
afterAll(() => lua.stop());

const run = (body: string) => lua.call('lost', { body });
const message = 'nothing can resume this task: it waits for something that will not come';

test.each([
  ['dropped', 4],
  ['raw', 5],
  ['nested', 8],
])('L1 %s: settled when nothing is left that could resume it', async (body, line) => {
  expect(errorOf(await run(body))).toMatchObject({
    kind: 'failed',
    message,
    where: `lost extensions/lost.lua:${line}`,
  });
});

test('L1 a child that is lost is the error of its parent', async () => {
  expect(errorOf(await run('child'))).toMatchObject({ kind: 'failed', message });
});

test('L1 a task whose resume something holds is not lost, though the loop has nothing open', async () => {
  const kept = run('kept');
  await new Promise((resolve) => setTimeout(resolve, 700));
  await run('wake');
  expect(await kept).toEqual({ ok: true, content: 'woken' });
});

test('L2 while other things keep the loop alive, the collector finds it', async () => {
  await run('start_ticker');
  for (const body of ['dropped', 'nested']) expect(errorOf(await run(body)).message).toBe(message);
  await run('stop_ticker');
});

test('what sleeps, waits for a timer, or can still be resumed is not lost', async () => {
  await run('start_ticker');
  const kept = run('kept');
  expect(await run('slept')).toEqual({ ok: true, content: 'slept' });
  expect(await run('timer')).toEqual({ ok: true, content: 'timer' });
  await run('wake');
  expect(await kept).toEqual({ ok: true, content: 'woken' });
  await run('stop_ticker');
});
