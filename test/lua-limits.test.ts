// The time limits of [lua]: what takes longer is stopped, with one line that names the limit, and costs nobody else anything.
import { LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start({ limits: { activateTimeoutMs: 300, callTimeoutMs: 400, handlerTimeoutMs: 300 } });
});
afterAll(() => lua.stop());

const lineOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: Error) => error.message,
  );

test.each([
  ['a loop', 'while true do end', 'extensions/load.lua:1: '],
  ['a loop under pcall', 'while true do pcall(function() while true do end end) end', 'extensions/load.lua:1: '],
  ['a wait', 'panto.async.sleep(1000)', ''],
])('%s while a source is loaded costs the limit', async (_, body, place) => {
  const line = await lineOf(lua.evaluate('load.lua', body));
  expect(line).toBe(`${place}timeout: loading took longer than 0.3 s (lua.activate_timeout)`);
  await lua.load('good.lua', 'return { name = "good", activate = function() end }');
});

test.each([
  ['a loop', 'while true do end', 'demo.slow extensions/slow.lua:3: '],
  ['a wait', 'panto.async.sleep(1000)', ''],
])('%s in activate costs the limit, and takes back what it had registered', async (_, body, place) => {
  const text = `return { name = "demo.slow", activate = function(ext)
  ext.register_tool { name = "early", description = "d", schema = { type = "object" }, handler = function() end }
  ${body}
end }`;
  const line = await lineOf(lua.load('slow.lua', text));
  expect(line).toBe(`${place}timeout: activate took longer than 0.3 s (lua.activate_timeout)`);
  expect(lua.runtime.source.tools.map(({ name }) => name)).not.toContain('early');
});

test('a command has the limit of a call', async () => {
  await lua.load(
    'commands.lua',
    `return { name = "demo.commands", activate = function(ext)
  ext.register_command { name = "hang", description = "d", handler = function() panto.async.sleep(1000) end }
  ext.register_command { name = "say", description = "d", handler = function(args) return args end }
end }`,
  );
  expect(await lineOf(lua.runtime.runCommand('hang', ''))).toBe(
    'timeout: /hang took longer than 0.4 s (lua.call_timeout)',
  );
  expect(await lua.runtime.runCommand('say', 'hello')).toBe('hello');
});

test('a cancelled command ends, also one that was cancelled before it began', async () => {
  const running = new AbortController();
  const command = lineOf(lua.runtime.runCommand('hang', '', running.signal));
  running.abort();
  expect(await command).toBe('cancelled');
  expect(await lineOf(lua.runtime.runCommand('hang', '', AbortSignal.abort()))).toBe('cancelled');
});

test('a tool has the limit that it names, else call_timeout', async () => {
  await lua.load(
    'tools.lua',
    `local function tool(name, timeout)
  return { name = name, description = "d", schema = { type = "object" }, timeout = timeout, handler = function() end }
end
return { name = "demo.tools", activate = function(ext)
  ext.register_tool(tool("default"))
  ext.register_tool(tool("own", 2.5))
  ext.register_tool(tool("none", 0))
end }`,
  );
  const limits = Object.fromEntries(lua.runtime.source.tools.map(({ name, timeoutMs }) => [name, timeoutMs]));
  expect(limits).toEqual({ default: 400, own: 2500, none: 0 });
});

test('argument repair has the limit of a handler', async () => {
  await lua.load(
    'repair.lua',
    `return { name = "demo.repair", activate = function(ext)
  ext.register_tool { name = "repaired", description = "d", schema = { type = "object" }, handler = function() end,
    prepare = function() panto.async.sleep(1000) end }
end }`,
  );
  const repair = lua.runtime.source.prepare!([{ toolName: 'repaired', input: '{}' }]);
  expect(await lineOf(Promise.resolve(repair))).toBe('timeout: prepare took longer than 0.3 s (lua.handler_timeout)');
});

test('an activation in C code that blocks is given up; the next one waits for the thread and works', async () => {
  const text = 'return { name = "demo.c", activate = function(ext) io.popen("sleep 3"):read("a") end }';
  const line = await lineOf(lua.load('c.lua', text));
  expect(line).toBe(
    'timeout: activate took longer than 0.3 s (lua.activate_timeout); it is in C code, which cannot be stopped',
  );
  await lua.load('good.lua', 'return { name = "good2", activate = function() end }');
});
