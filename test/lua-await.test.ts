// docs/concurrency.md, Awaiting and Callbacks.
import { errorOf, LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start();
  await lua.tools('demo.await', {
    at_once: `return table.concat({ panto.async.await(function(resume) resume("a", "b") end) }, " ")`,
    nothing: `return select("#", panto.async.await(function(resume) resume() end))`,
    holes: `local t = table.pack(panto.async.await(function(resume) resume(nil, 2, nil) end))
      return t.n .. " " .. tostring(t[1]) .. " " .. tostring(t[2]) .. " " .. tostring(t[3])`,
    once: `local delivered = {}
      local value = panto.async.await(function(resume)
        local timer = uv.new_timer()
        timer:start(5, 0, function()
          timer:close()
          delivered[1] = resume("first")
          delivered[2] = resume("second")
        end)
      end)
      return value .. " " .. tostring(delivered[1]) .. " " .. tostring(delivered[2])`,
    start_awaits: `return panto.async.await(function(resume) panto.async.sleep(0.01) resume("later") end)`,
    start_fails: `panto.async.await(function() error("no start") end)`,
    no_function: `panto.async.await("text")`,
    generator: `local function numbers()
        return coroutine.wrap(function()
          for i = 1, 3 do panto.async.sleep(0.005) coroutine.yield(i) end
        end)
      end
      local sum = 0
      for n in numbers() do sum = sum + n end
      return tostring(sum)`,
    deep: `local function nest(depth)
        if depth == 0 then panto.async.sleep(0.01) return "bottom" end
        local ok, value = coroutine.resume(coroutine.create(nest), depth - 1)
        assert(ok, value)
        return value
      end
      return nest(20)`,
    by_hand: `local co = coroutine.create(function() panto.async.sleep(0.05) return "slept" end)
      local out = {}
      local timer = uv.new_timer()
      timer:start(5, 0, function()
        timer:close()
        out = { coroutine.resume(co) }
      end)
      local ok, value = coroutine.resume(co)
      return value .. " " .. tostring(out[1]) .. " " .. tostring(out[2])`,
    root_by_hand: `local co = coroutine.running()
      local out
      local timer = uv.new_timer()
      timer:start(5, 0, function()
        timer:close()
        out = { coroutine.resume(co, "intruder") }
      end)
      panto.async.sleep(0.03)
      return tostring(out[1]) .. " " .. out[2]`,
    places: `local places = {
        sort = function() table.sort({ 3, 1, 2 }, function(a, b) panto.async.sleep(0) return a < b end) end,
        gsub = function() ("aa"):gsub("a", function() panto.async.sleep(0) end) end,
        tostring = function() tostring(setmetatable({}, { __tostring = function() panto.async.sleep(0) return "" end })) end,
        load = function() assert(load(function() panto.async.sleep(0) end)) end,
        close = function()
          local co = coroutine.create(function()
            local x <close> = setmetatable({}, { __close = function() panto.async.sleep(0) end })
            coroutine.yield()
          end)
          coroutine.resume(co)
          local ok, err = coroutine.close(co)
          if not ok then error(err, 0) end
        end,
      }
      local ok, err = pcall(places[input.place])
      return tostring(ok) .. " " .. tostring(err)`,
    works: `local places = {
        pcall = function() return select(2, pcall(function() panto.async.sleep(0.001) return "ok" end)) end,
        xpcall = function() return select(2, xpcall(function() panto.async.sleep(0.001) return "ok" end, debug.traceback)) end,
        iterator = function()
          local n = 0
          for v in function() n = n + 1 panto.async.sleep(0.001) return n < 4 and n or nil end do end
          return n == 4 and "ok"
        end,
        index = function() return setmetatable({}, { __index = function() panto.async.sleep(0.001) return "ok" end }).x end,
        lt = function()
          local mt = { __lt = function() panto.async.sleep(0.001) return true end }
          return setmetatable({}, mt) < setmetatable({}, mt) and "ok"
        end,
        close = function()
          do local x <close> = setmetatable({}, { __close = function() panto.async.sleep(0.001) end }) end
          return "ok"
        end,
      }
      return places[input.place]()`,
    orphan: `local done = false
      local timer = uv.new_timer()
      timer:start(1, 0, function()
        timer:close()
        coroutine.wrap(function()
          panto.async.sleep(0.005)
          local inner = coroutine.wrap(function() panto.async.sleep(0.005) return "inner" end)
          done = inner()
        end)()
      end)
      panto.async.sleep(0.1)
      return tostring(done)`,
    orphan_fails: `local timer = uv.new_timer()
      timer:start(1, 0, function()
        timer:close()
        coroutine.wrap(function() panto.async.sleep(0.001) error("lost and found") end)()
      end)
      panto.async.sleep(0.05)
      return "went on"`,
    wake_order: `local resumes, order = {}, {}
      local children = {}
      for i = 1, 3 do
        children[i] = coroutine.wrap(function()
          panto.async.await(function(resume) resumes[i] = resume end)
          order[#order + 1] = i
        end)
      end
      local timer = uv.new_timer()
      timer:start(1, 0, function()
        timer:close()
        for i = 1, 3 do children[i]() end
        order[#order + 1] = "started"
        resumes[2]() resumes[3]() resumes[1]()
        order[#order + 1] = "returned"
      end)
      panto.async.sleep(0.05)
      return table.concat(order, " ")`,
    bad_sleep: `panto.async.sleep(input.seconds)`,
    not_in_task: `local out
      local timer = uv.new_timer()
      timer:start(1, 0, function() timer:close() out = { pcall(panto.async.sleep, 0) } end)
      panto.async.sleep(0.02)
      return tostring(out[2])`,
    run: `local ok, err = uv.run() return tostring(ok) .. " " .. err`,
    refused: `local ok, err = pcall(load("return " .. input.code)) return tostring(ok) .. " " .. tostring(err)`,
    many: `local n = 0
      for i = 1, 2000 do
        panto.async.await(function(resume)
          local timer = uv.new_timer()
          timer:start(0, 0, function() timer:close() resume() end)
        end)
        if i % 100 == 0 then collectgarbage() end
        n = n + 1
      end
      return tostring(n)`,
    walk: `local timers = {}
      for i = 1, 30 do timers[i] = uv.new_timer() end
      local seen = 0
      uv.walk(function(handle) seen = seen + 1 end)
      for i = 1, 30 do timers[i]:close() end
      return tostring(seen >= 30)`,
  });
});
afterAll(() => lua.stop());

test.each([
  ['A1 resume at once: nothing suspends and the values arrive', 'at_once', 'a b'],
  ['A1 resume without values gives none', 'nothing', '0'],
  ['A1 nil among the values is kept', 'holes', '3 nil 2 nil'],
  ['A1 only the first resume is delivered, and each says whether it was', 'once', 'first true false'],
  ['A1 start may itself await', 'start_awaits', 'later'],
  ['A2 an await inside a generator suspends the task; raw yields reach the consumer', 'generator', '6'],
  ['A2 an await 20 coroutines deep suspends the task', 'deep', 'bottom'],
  [
    'A3 a coroutine that waits cannot be resumed by hand',
    'by_hand',
    'slept false cannot resume a coroutine that waits in await',
  ],
  ['A3 nor can the root of a task', 'root_by_hand', 'false cannot resume a coroutine that waits in await'],
  ['A6 a coroutine that a callback started waits by itself, nested ones too', 'orphan', 'inner'],
  ['A6 a callback itself is no coroutine', 'not_in_task', 'cannot await here: not in a coroutine'],
  [
    'A5 the woken run after the callback has returned, in the order of the wake-ups',
    'wake_order',
    'started returned 2 3 1',
  ],
  ['B3 uv.run returns at once', 'run', 'nil loop already running'],
  ['2000 awaits in a row, with collections in between', 'many', '2000'],
  ['uv.walk works from a task', 'walk', 'true'],
])('%s', async (_, tool, expected) => {
  expect(await lua.text(tool)).toBe(expected);
});

test('A1 an error in start is the error of the await', async () => {
  expect(errorOf(await lua.call('start_fails')).message).toBe('no start');
  expect(errorOf(await lua.call('no_function')).message).toMatch(/bad argument #1 .*function expected/);
});

test.each(['sort', 'gsub', 'tostring', 'load', 'close'])(
  'A4 await in %s fails with an error that says why; the next call works',
  async (place) => {
    const text = await lua.text('places', { place });
    expect(text).toMatch(/^false /);
    expect(text).toMatch(/cannot await here|attempt to yield across a C-call boundary/);
    expect(await lua.text('at_once')).toBe('a b');
  },
);

test.each(['pcall', 'xpcall', 'iterator', 'index', 'lt', 'close'])('await works in %s', async (place) => {
  expect(await lua.text('works', { place })).toBe('ok');
});

test('A6 the error of a coroutine that nobody awaits is reported', async () => {
  const before = lua.problems().length;
  expect(await lua.text('orphan_fails')).toBe('went on');
  expect(lua.problems().slice(before)).toHaveLength(1);
  expect(lua.problems().at(-1)).toContain('lost and found');
});

test('sleep takes seconds from 0 on', async () => {
  for (const seconds of [-1, 'soon', 1e12]) {
    expect(errorOf(await lua.call('bad_sleep', { seconds })).message).toContain('bad argument #1');
  }
});

test.each([
  ['os.exit(3)', 'os.exit is refused inside panto'],
  ['os.setlocale("C")', 'os.setlocale is refused inside panto'],
  ['debug.sethook()', 'debug.sethook is refused inside panto'],
  ['collectgarbage("stop")', 'collectgarbage("stop") is refused inside panto'],
  ['require("luv").stop()', 'uv.stop is refused inside panto'],
  ['require("uv").loop_close()', 'uv.loop_close is refused inside panto'],
  ['require("uv").chdir("/")', 'uv.chdir is refused inside panto'],
  ['require("uv").os_setenv("A", "b")', 'uv.os_setenv is refused inside panto'],
])('B3 %s is refused with the reason', async (code, reason) => {
  expect(await lua.text('refused', { code })).toContain(reason);
});
