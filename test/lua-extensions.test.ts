// Sources, entries and registrations: what a file may return, what is refused, and that nothing stays behind.
import { readFileSync } from 'node:fs';
import { LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeEach(async () => {
  lua = await LuaHarness.start();
});
afterEach(() => lua.stop());

const toolNames = () => lua.runtime.source.tools.map(({ name }) => name);

test('a source returns an entry, a list of entries, or a bare tool', async () => {
  expect(
    await lua.evaluate('one.lua', 'return { name = "a.b", description = "one", activate = function() end }'),
  ).toMatchObject([{ name: 'a.b', description: 'one' }]);
  const list = await lua.evaluate(
    'list.lua',
    'return { { name = "x.one", activate = function() end }, { name = "x.two", activate = function() end } }',
  );
  expect(list.map(({ name }) => name)).toEqual(['x.one', 'x.two']);
  const [tool] = await lua.evaluate(
    'tool.lua',
    'return { name = "shout", description = "d", schema = { type = "object" }, handler = function(i) return i.text:upper() end }',
  );
  expect(tool!.name).toBe('shout');
  await lua.runtime.activate(tool!.id);
  expect(await lua.text('shout', { text: 'hi' })).toBe('HI');
});

test.each([
  ['return 5', 'extensions/bad.lua: what it returned is a number; expected an entry { name, activate } or a tool'],
  ['', 'extensions/bad.lua: what it returned is nothing; expected an entry { name, activate } or a tool'],
  [
    'return { activate = function() end }',
    'extensions/bad.lua: what it returned has no valid name (dotted, of A-Z a-z 0-9 _ -)',
  ],
  [
    'return { name = "a..b", activate = print }',
    'extensions/bad.lua: what it returned has no valid name (dotted, of A-Z a-z 0-9 _ -)',
  ],
  ['return { name = "a" }', 'entry a has neither activate nor handler'],
  [
    'return { { name = "a", activate = print }, 7 }',
    'extensions/bad.lua: item 2 is a number; expected an entry { name, activate } or a tool',
  ],
  ['local x = = 1', "extensions/bad.lua:1: unexpected symbol near '='"],
  ['\n\nerror("at load")', 'extensions/bad.lua:3: at load'],
  [
    'panto.ext.register_tool {}',
    'extensions/bad.lua:1: registering while a source is evaluated is refused: return an entry and register in its activate(ext)',
  ],
])('%s is refused in one line', async (text, message) => {
  await expect(lua.evaluate('bad.lua', text)).rejects.toMatchObject({ name: 'LuaError', message });
});

const register = (fields: string) => `return { name = "demo.tools", activate = function(ext)
  ext.register_tool { ${fields} }
end }`;

test.each([
  ['', 'a tool: name must be a string, not nil'],
  ['name = "my tool!"', 'tool my tool!: the name must be 1 to 64 of A-Z a-z 0-9 _ -'],
  ['name = "a.b"', 'tool a.b: the name must be 1 to 64 of A-Z a-z 0-9 _ -'],
  [`name = "${'x'.repeat(65)}"`, `tool ${'x'.repeat(65)}: the name must be 1 to 64 of A-Z a-z 0-9 _ -`],
  ['name = "выборка"', 'tool выборка: the name must be 1 to 64 of A-Z a-z 0-9 _ -'],
  ['name = ""', 'tool : the name must be 1 to 64 of A-Z a-z 0-9 _ -'],
  ['name = "t"', 'tool t: description must be a string, not nil'],
  ['name = "t", description = "d"', 'tool t: schema must be a table, not nil'],
  ['name = "t", description = "d", schema = {}', 'tool t: handler must be a function, not nil'],
])('register_tool { %s } names the fault and the line', async (fields, cause) => {
  await expect(lua.load('tools.lua', register(fields))).rejects.toMatchObject({
    message: `demo.tools extensions/tools.lua:2: ${cause}`,
  });
  expect(toolNames()).toEqual([]);
});

test('when activate fails, all that it had registered is taken back', async () => {
  const failing = `return { name = "demo.half", activate = function(ext)
    ext.register_tool { name = "half", description = "d", schema = { type = "object" }, handler = print }
    ext.register_command { name = "half", description = "d", handler = print }
    error("changed my mind")
  end }`;
  await expect(lua.load('half.lua', failing)).rejects.toMatchObject({
    message: 'demo.half extensions/half.lua:4: changed my mind',
  });
  expect(toolNames()).toEqual([]);
  expect(lua.runtime.commands()).toEqual([]);
});

test('a taken name names its owner; the first one stays', async () => {
  const tool = (owner: string) =>
    `return { name = "${owner}", activate = function(ext)
      ext.register_tool { name = "search", description = "of ${owner}", schema = { type = "object" }, handler = function() return "${owner}" end }
    end }`;
  await lua.load('first.lua', tool('first'));
  await expect(lua.load('second.lua', tool('second'))).rejects.toMatchObject({
    message: 'second extensions/second.lua:2: tool search is already registered by first',
  });
  expect(await lua.text('search')).toBe('first');
});

test('a registration can be taken back, and made later from a handler', async () => {
  await lua.load(
    'late.lua',
    `return { name = "demo.late", activate = function(ext)
      local schema = { type = "object", required = {}, properties = {} }
      local off
      ext.register_tool { name = "add", description = "d", schema = schema, handler = function()
        off = panto.ext.register_tool { name = "added", description = "later", schema = schema, handler = function() return "here" end }
      end }
      ext.register_tool { name = "remove", description = "d", schema = schema, handler = function() off() off() end }
    end }`,
  );
  await lua.text('add');
  expect(toolNames()).toEqual(['add', 'remove', 'added']);
  expect(await lua.text('added')).toBe('here');
  await lua.text('remove');
  expect(toolNames()).toEqual(['add', 'remove']);
  expect(lua.runtime.source.tools[0]!.inputSchema).toEqual({ type: 'object', required: [], properties: {} });
});

test('commands run with their arguments, return text and fail with their place', async () => {
  await lua.load(
    'commands.lua',
    `return { name = "demo.commands", activate = function(ext)
      ext.register_command { name = "hello", description = "greets", handler = function(args) panto.async.sleep(0.001) return "hello " .. args end }
      ext.register_command { name = "quiet", description = "says nothing", handler = function() end }
      ext.register_command { name = "fails", description = "fails", handler = function() error("no") end }
    end }`,
  );
  expect(lua.runtime.commands().map(({ name, extension }) => [name, extension])).toEqual([
    ['hello', 'demo.commands'],
    ['quiet', 'demo.commands'],
    ['fails', 'demo.commands'],
  ]);
  expect(await lua.runtime.runCommand('hello', 'world')).toBe('hello world');
  expect(await lua.runtime.runCommand('quiet', '')).toBeUndefined();
  await expect(lua.runtime.runCommand('fails', '')).rejects.toMatchObject({
    message: 'demo.commands extensions/commands.lua:4: no',
  });
  await expect(lua.runtime.runCommand('absent', '')).rejects.toMatchObject({ message: 'no command is named /absent' });
});

test('prepare repairs arguments before they are validated', async () => {
  await lua.load(
    'prepare.lua',
    `return { name = "repair", description = "d", schema = { type = "object" }, handler = function(i) return i.path end,
      prepare = function(input) return { path = input.file or input.path } end }`,
  );
  await lua.load(
    'plain.lua',
    'return { name = "plain", description = "d", schema = { type = "object" }, handler = print }',
  );
  const texts = await lua.runtime.source.prepare!([
    { toolName: 'repair', input: '{"file":"a.txt"}' },
    { toolName: 'plain', input: '{"x": [ ]}' },
  ]);
  expect(texts).toEqual(['{"path":"a.txt"}', '{"x": [ ]}']);
});

test('print, io.stdout, io.stderr, warn and the log go to the log file with the name; stdin is at its end', async () => {
  await lua.load(
    'streams.lua',
    `return { name = "demo.streams", activate = function(ext)
      ext.register_tool { name = "say", description = "d", schema = { type = "object" }, handler = function()
        print("printed", 1, nil)
        io.stdout:write("written\\n")
        io.stderr:write("to stderr\\n")
        io.write("io.write\\n")
        warn("warned ", "twice")
        ext.log.info("logged", 5)
        return tostring(io.read("a")) .. tostring(io.read("l"))
      end }
    end }`,
  );
  expect(await lua.text('say')).toBe('nil');
  const lines = readFileSync(lua.logFile, 'utf8');
  expect(lines).toMatch(/Z print demo\.streams: printed\t1\tnil\n/);
  expect(lines).toMatch(/^written\nto stderr\nio\.write\n/m);
  expect(lines).toMatch(/Z warn demo\.streams: warned twice\n/);
  expect(lines).toMatch(/Z info demo\.streams: logged 5\n/);
});

test('panto.ui.notify reaches the host with the name of the extension', async () => {
  await lua.load(
    'note.lua',
    'return { name = "demo.note", activate = function() panto.ui.notify("ready", "warn") end }',
  );
  expect(lua.events).toContainEqual({ type: 'notify', level: 'warn', text: 'ready', extension: 'demo.note' });
});

test('one runtime lives in a process at a time', async () => {
  await expect(LuaHarness.start()).rejects.toMatchObject({ message: 'The Lua runtime already runs in this process' });
});
