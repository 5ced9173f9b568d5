// docs/concurrency.md A7: require inside the runtime.
import { errorOf, LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start();
  lua.write(
    'slow/body.lua',
    'loads = (loads or 0) + 1\npanto.async.sleep(0.05)\nreturn { name = ..., loads = loads }\n',
  );
  lua.write('slow/sub/init.lua', 'return "a folder"\n');
  lua.write('slow/nothing.lua', 'panto.async.sleep(0.001)\n');
  lua.write('slow/broken.lua', 'local x = = 1\n');
  lua.write(
    'slow/raises.lua',
    'panto.async.sleep(0.001)\nattempts = (attempts or 0) + 1\nerror("no luck " .. attempts)\n',
  );
  lua.write('slow/one.lua', 'panto.async.sleep(0.02)\nreturn require "two"\n');
  lua.write('slow/two.lua', 'panto.async.sleep(0.02)\nreturn require "one"\n');
  lua.write('slow/itself.lua', 'return require "itself"\n');
  lua.write('other/body.lua', 'return { name = "of the other extension" }\n');
  const extension = (name: string) => `return { name = "demo.${name}", activate = function(ext)
    ext.register_tool { name = "${name}_require", description = "requires", schema = { type = "object" }, handler = function(input)
      local value = require(input.module)
      return type(value) == "table" and assert(panto.json.encode(value, { sort_keys = true })) or tostring(value)
    end }
    ext.register_tool { name = "${name}_same", description = "compares", schema = { type = "object" }, handler = function(input)
      return tostring(require(input.module) == require(input.module))
    end }
  end }`;
  await lua.load('slow.lua', extension('slow'));
  await lua.load('other/init.lua', extension('other'));
});
afterAll(() => lua.stop());

const requires = (module: string, tool = 'slow_require') => lua.call(tool, { module });

test('A7 two tasks that require a module whose body waits get one value from one run', async () => {
  const settled = await lua.batch(
    Array.from({ length: 3 }, () => ({ tool: 'slow_require', input: { module: 'body' } })),
  );
  for (const { result } of settled) expect(result).toEqual({ ok: true, content: '{"loads":1,"name":"body"}' });
  expect(await lua.text('slow_same', { module: 'body' })).toBe('true');
});

test('each extension has the modules of its own folder', async () => {
  expect(await lua.text('other_require', { module: 'body' })).toBe('{"name":"of the other extension"}');
  expect(await lua.text('slow_require', { module: 'sub' })).toBe('a folder');
  expect(errorOf(await requires('sub', 'other_require')).message).toMatch(/^module 'sub' not found:/);
});

test('a module that returns nothing is true, once', async () => {
  expect(await lua.text('slow_require', { module: 'nothing' })).toBe('true');
});

test('a syntax error names the file, and an error of the body is tried again', async () => {
  expect(errorOf(await requires('broken')).message).toMatch(
    /error loading module 'broken'.*slow\/broken\.lua:1: unexpected symbol near '='/s,
  );
  const first = errorOf(await requires('raises'));
  expect(first).toMatchObject({ message: 'no luck 1', where: 'demo.slow extensions/slow/raises.lua:3' });
  expect(errorOf(await requires('raises')).message).toBe('no luck 2');
});

test('A7 a circle is an error that shows the circle, in one task and across two', async () => {
  expect(errorOf(await requires('itself')).message).toContain(
    'modules require each other in a circle: itself <- itself',
  );
  expect(errorOf(await requires('one')).message).toContain('in a circle: one <- one');
  const settled = await lua.batch(['one', 'two'].map((module) => ({ tool: 'slow_require', input: { module } })));
  const messages = settled.map(({ result }) => errorOf(result).message);
  expect(messages.some((message) => message.includes('in a circle: '))).toBe(true);
});

test('what is installed is found, and what is not lists the places', async () => {
  expect(await lua.text('slow_same', { module: 'luv' })).toBe('true');
  expect(await lua.text('slow_same', { module: 'string' })).toBe('true');
  expect(errorOf(await requires('no.such.module')).message).toMatch(
    /^module 'no\.such\.module' not found:\n\tno field package\.preload\['no\.such\.module'\]\n\tno file .*no\/such\/module\.lua/,
  );
  expect(errorOf(await lua.call('slow_require', { module: 12 })).message).toContain("bad argument #1 to 'require'");
});
