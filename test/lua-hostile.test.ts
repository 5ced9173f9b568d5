// What careless or hostile Lua code does to the runtime that it shares with others: it costs itself, and nobody else.
import { errorOf, LuaHarness } from './lua-support.js';

const bodies: Record<string, string> = {
  resume_self: 'local co = coroutine.running() return tostring(select(2, coroutine.resume(co)))',
  resume_outer: `local co = coroutine.running()
    return tostring(coroutine.wrap(function() return select(2, coroutine.resume(co)) end)())`,
  resume_in_walk: 'local co = coroutine.running() uv.walk(function() coroutine.resume(co) end) return "fine"',
  wipe_registry: `local registry = debug.getregistry()
    for key in pairs(registry) do registry[key] = nil end
    return tostring(pcall(function() registry.x = 1 end)) .. " " .. type(registry["FILE*"])`,
  wipe_upvalues: 'return tostring(pcall(debug.setupvalue, uv.sleep, 1, nil))',
  set_upvalue: 'local x = 1 local function f() return x end debug.setupvalue(f, 1, 2) return f()',
  close_descriptors: `local refused = 0
    for fd = 0, 2 do if not pcall(uv.fs_close, fd) then refused = refused + 1 end end
    for fd = 3, 100 do
      local found = uv.fs_fstat(fd)
      if found and not found.type and not pcall(uv.fs_close, fd) then refused = refused + 1 end
    end
    return refused > 3 and "refused" or refused`,
  close_own: `local fd = assert(uv.fs_open(call.cwd, "r", 0))
    local pipe = uv.pipe()
    assert(uv.fs_close(fd) and uv.fs_close(pipe.read) and uv.fs_close(pipe.write))
    return (select(2, uv.fs_close(fd)):match("^%u+"))`,
  failing_finalizers: `for _ = 1, 100 do
      setmetatable({}, { __gc = function() error({}) end })
      setmetatable({}, { __gc = function() panto.async.sleep(1) end })
    end
    collectgarbage() collectgarbage()
    return "collected"`,
  bare_handles: 'debug.setmetatable(uv.new_timer(), {}) collectgarbage() collectgarbage() return "collected"',
  overflow: 'local function f() return 1 + f() end return f()',
  overflow_in_c: 'local function f(s) return (s:gsub(".", f)) end return f("a")',
  too_long: 'return ("x"):rep(1e10)',
  good: 'panto.async.sleep(0.02) return "good"',
};

let lua: LuaHarness;
beforeAll(async () => {
  lua = await LuaHarness.start();
  await lua.tools('hostile', bodies);
});
afterAll(() => lua.stop());

test.each([
  ['resume_self', 'cannot resume non-suspended coroutine'],
  ['resume_outer', 'cannot resume non-suspended coroutine'],
  ['resume_in_walk', 'fine'],
  ['wipe_registry', 'false table'],
  ['wipe_upvalues', 'false'],
  ['set_upvalue', '2'],
  ['close_descriptors', 'refused'],
  ['close_own', 'EBADF'],
  ['failing_finalizers', 'collected'],
  ['bare_handles', 'collected'],
] as const)('%s: the call goes on, and so does the one beside it', async (tool, text) => {
  const [hostile, good] = await lua.batch([{ tool }, { tool: 'good' }]);
  expect(hostile?.result).toMatchObject({ ok: true, content: text });
  expect(good?.result).toMatchObject({ ok: true, content: 'good' });
});

test.each([
  ['overflow', 'stack overflow'],
  ['overflow_in_c', 'C stack overflow'],
  ['too_long', 'too large'],
] as const)('%s is an error of its own call', async (tool, cause) => {
  const [hostile, good] = await lua.batch([{ tool }, { tool: 'good' }]);
  expect(errorOf(hostile!.result).message).toContain(cause);
  expect(good?.result).toMatchObject({ ok: true, content: 'good' });
});

test('globals that an extension replaces fail where they are used, and what does not use them goes on', async () => {
  const vandal = await LuaHarness.start().catch(() => undefined);
  expect(vandal).toBeUndefined();
  await lua.tools('vandal', {
    vandalize: `kept = {}
      for _, name in ipairs { "print", "require", "tostring", "error", "type", "pairs", "ipairs", "setmetatable", "panto" } do
        kept[name], _G[name] = _G[name], nil
      end
      string.format, coroutine.resume, table.concat = nil, nil, nil
      getmetatable("").__index = nil
      package.loaded, package.searchers, package.path = nil, nil, nil
      return "broken"`,
    plain: 'return 1 + 1',
    uses: 'return tostring(1)',
  });
  expect(await lua.text('vandalize')).toBe('broken');
  expect(await lua.text('plain')).toBe('2');
  expect(errorOf(await lua.call('uses')).message).toContain("global 'tostring'");
});
