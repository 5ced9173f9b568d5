// panto.async.lock: one table of names for all extensions, the agent and its native tools.
import { Locks } from '../lib/core/locks.js';
import { errorOf, LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start();
  await lua.tools(
    'demo.locks',
    {
      hold: `return panto.async.lock(input.name, function()
          table.insert(order, "+" .. input.n)
          panto.async.sleep(0.02)
          table.insert(order, "-" .. input.n)
          if input.fails then error("inside") end
          return input.n .. " done"
        end)`,
      order: `local text = table.concat(order, " ") order = {} return text`,
      bad: `panto.async.lock(5, print)`,
    },
    'local order = {}',
  );
});
afterAll(() => lua.stop());

const hold = (n: number, more: object = {}) => ({ tool: 'hold', input: { name: 'a', n, ...more } });

test('tasks that use one name run one after another, in the order of their calls', async () => {
  const settled = await lua.batch([hold(1), hold(2), hold(3)]);
  expect(settled.map(({ result }) => result.ok && result.content)).toEqual(['1 done', '2 done', '3 done']);
  expect(await lua.text('order')).toBe('+1 -1 +2 -2 +3 -3');
});

test('other names do not wait', async () => {
  await lua.batch([hold(1), { tool: 'hold', input: { name: 'b', n: 2 } }]);
  expect(await lua.text('order')).toBe('+1 +2 -1 -2');
});

test('an error gives the lock back', async () => {
  const [failed, next] = await lua.batch([hold(1, { fails: true }), hold(2)]);
  expect(errorOf(failed!.result).message).toBe('inside');
  expect(next!.result).toEqual({ ok: true, content: '2 done' });
  await lua.text('order');
});

test('a task that is cancelled while it waits leaves the queue, and one that holds the lock gives it back', async () => {
  const waiting = new AbortController();
  const holding = new AbortController();
  const batch = lua.batch([{ ...hold(1), signal: holding.signal }, { ...hold(2), signal: waiting.signal }, hold(3)]);
  waiting.abort();
  holding.abort();
  const settled = await batch;
  expect(settled.slice(0, 2).map(({ result }) => errorOf(result).kind)).toEqual(['cancelled', 'cancelled']);
  expect(settled[2]!.result).toEqual({ ok: true, content: '3 done' });
  expect(await lua.text('order')).toMatch(/\+3 -3$/);
});

test('the table can be the agent’s: who holds a name there keeps tasks out', async () => {
  const locks = new Locks();
  lua.runtime.useLocks((name, run, { signal }) => locks.hold(name, run, signal));
  let release = () => {};
  const held = locks.hold('a', () => new Promise<void>((resolve) => (release = resolve)));
  const settled = lua.batch([hold(1)]);
  await lua.batch([{ tool: 'hold', input: { name: 'other', n: 0 } }]);
  expect(await lua.text('order')).toBe('+0 -0');
  release();
  await held;
  expect((await settled)[0]!.result).toEqual({ ok: true, content: '1 done' });
  await lua.text('order');
});

test('a name is a text', async () => {
  expect(errorOf(await lua.call('bad')).message).toBe('lock: the name must be a string, not number');
});
