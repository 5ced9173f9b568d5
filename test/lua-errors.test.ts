// Errors of handlers and callbacks: of any type, with extension, file:line and cause; nobody else is touched.
import { errorOf, LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start();
  await lua.load(
    'faults.lua',
    `local uv = require "luv"
local kinds = {
  string = function() error("kaboom") end,
  code = function() error({ code = 7 }) end,
  message = function() error({ message = "help" }) end,
  text = function() error(setmetatable({}, { __tostring = function() return "I am text" end })) end,
  ["nil"] = function() error(nil) end,
  none = function() error() end,
  boolean = function() error(false) end,
  number = function() error(42) end,
  index = function() local t = nil return t.field end,
  bad_tostring = function() error(setmetatable({}, { __tostring = function() error("again") end })) end,
  overflow = function() local function f() return 1 + f() end return f() end,
}
local function fail(input)
  kinds[input.kind]()
end
return {
  name = "demo.faults",
  activate = function(ext)
    local schema = { type = "object" }
    ext.register_tool { name = "fail", description = "fails", schema = schema, handler = fail }
    ext.register_tool { name = "fail_later", description = "fails", schema = schema, handler = function(input)
      panto.async.sleep(0.01)
      kinds[input.kind]()
    end }
    ext.register_tool { name = "fine", description = "works", schema = schema, handler = function() return "fine" end }
    ext.register_tool { name = "callback", description = "fails in a callback", schema = schema, handler = function(input)
      local timer = uv.new_timer()
      timer:start(5, 0, function()
        timer:close()
        kinds[input.kind]()
      end)
      panto.async.sleep(0.05)
      return "the call went on"
    end }
  end,
}
`,
  );
});
afterAll(() => lua.stop());

const line = (kind: string) =>
  ({ string: 3, code: 4, message: 5, text: 6, nil: 7, none: 8, boolean: 9, number: 10 })[kind];
const causes = [
  ['string', 'kaboom'],
  ['code', '(error object is a table value)'],
  ['message', 'help'],
  ['text', 'I am text'],
  ['nil', 'nil'],
  ['none', 'nil'],
  ['boolean', 'false'],
  ['number', '42'],
] as const;

test.each(causes)(
  'error of kind %s in a handler: extension, file:line and the cause "%s"; the sibling is untouched',
  async (kind, cause) => {
    for (const tool of ['fail', 'fail_later']) {
      const [failed, sibling] = await lua.batch([{ tool, input: { kind } }, { tool: 'fine' }]);
      expect(errorOf(failed!.result)).toMatchObject({
        kind: 'failed',
        message: cause,
        where: `demo.faults extensions/faults.lua:${line(kind)}`,
      });
      expect(errorOf(failed!.result).traceback).toContain(`extensions/faults.lua:${line(kind)}`);
      expect(sibling!.result).toEqual({ ok: true, content: 'fine' });
    }
  },
);

test('a fault of the language is reported like any other', async () => {
  const error = errorOf(await lua.call('fail', { kind: 'index' }));
  expect(error.message).toBe("attempt to index a nil value (local 't')");
  expect(error.where).toBe('demo.faults extensions/faults.lua:11');
});

test('an error object whose __tostring fails, and a stack overflow, are error results', async () => {
  expect(errorOf(await lua.call('fail', { kind: 'bad_tostring' })).kind).toBe('failed');
  expect(errorOf(await lua.call('fail', { kind: 'overflow' })).message).toContain('stack overflow');
  expect(await lua.text('fine')).toBe('fine');
});

test.each(causes)(
  'B2 error of kind %s in a luv callback is reported with its place, and the call goes on',
  async (kind, cause) => {
    const before = lua.problems().length;
    expect(await lua.text('callback', { kind })).toBe('the call went on');
    expect(lua.problems().slice(before)).toEqual([`demo.faults extensions/faults.lua:${line(kind)}: ${cause}`]);
  },
);
