// Turns through the real command: Lua tools, native tools and wrong calls side by side.
import { buildSharedTree } from './cli-support.js';
import { allOverlap, extensionOf, Home } from './end-to-end-support.js';

let home: Home;
let removeTree: () => void;
beforeAll(async () => {
  removeTree = await buildSharedTree();
});
afterAll(() => removeTree());
beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

/** A timer of luv, resumed by hand. */
const wait = `
local function wait(ms)
  local co = coroutine.running()
  local timer = uv.new_timer()
  timer:start(ms, 0, function()
    timer:close()
    coroutine.resume(co)
  end)
  coroutine.yield()
end`;

test('16 Lua calls and two commands of a turn overlap; results are in call order; a module counts through both turns', async () => {
  home.extension('counter/counter.lua', 'return { value = 0 }\n');
  home.extension(
    'counter/init.lua',
    extensionOf(
      'counter',
      { count: 'wait(200)\ncounter.value = counter.value + 1\nreturn input.n .. ":" .. counter.value' },
      `local counter = require "counter"${wait}`,
    ),
  );
  const names = [...Array<string>(8).fill('count'), 'bash', ...Array<string>(8).fill('count'), 'bash'];
  const turn = (first: number) =>
    names.map((name, i) =>
      name === 'bash'
        ? { name, input: { command: `sleep 0.3; echo ${first + i}` } }
        : { name, input: { n: String(first + i) } },
    );
  const { status, results, sent } = await home.turns([turn(100), turn(200)]);
  expect(status).toBe(0);
  for (const [at, first] of [100, 200].entries()) {
    const ofTurn = results.slice(at * names.length, (at + 1) * names.length);
    const lua = ofTurn.filter(({ name }) => name === 'count');
    const bash = ofTurn.filter(({ name }) => name === 'bash');
    expect([lua.length, allOverlap(lua), bash.length, allOverlap(bash)]).toEqual([16, true, 2, true]);
    expect(sent[at]?.map(({ name }) => name)).toEqual(names);
    const leading = sent[at]?.map(({ content }) => Number.parseInt(content as string, 10));
    expect(leading).toEqual(names.map((_, i) => first + i));
    const counts = lua.map(({ content }) => Number(content.split(':')[1]));
    expect(Math.max(...counts)).toBe(16 * (at + 1));
    expect(new Set(counts).size).toBe(16);
  }
});

test('results of a Lua tool, a JavaScript tool and a command are in call order, however long each takes', async () => {
  home.extension('nap.lua', extensionOf('nap', { lua_nap: 'panto.async.sleep(0.6)\nreturn "lua"' }));
  home.write(
    '~/.config/panto/tools/js_nap.mjs',
    `export const tool = { name: 'js_nap', description: 'naps', inputSchema: { type: 'object' } };
     export const run = async () => { await new Promise((resolve) => setTimeout(resolve, 400)); return 'js'; };\n`,
  );
  const { results, sent } = await home.turns([
    [{ name: 'lua_nap' }, { name: 'js_nap' }, { name: 'bash', input: { command: 'sleep 0.5; echo bash' } }].map(
      (call) => ({
        input: {},
        ...call,
      }),
    ),
  ]);
  expect(sent[0]?.map(({ content }) => (content as string).trim())).toEqual(['lua', 'js', 'bash']);
  expect(allOverlap(results)).toBe(true);
});

const causes = [
  ['a string', 'error("broken")', 'broken'],
  ['a table with a message', 'error({ message = "help" })', 'help'],
  ['a table', 'error({ code = 7 })', '(error object is a table value)'],
  ['an object with __tostring', 'error(setmetatable({}, { __tostring = function() return "shown" end }))', 'shown'],
  ['nil', 'error(nil)', 'nil'],
  ['nothing', 'error()', 'nil'],
  ['false', 'error(false)', 'false'],
] as const;

test('a handler that raises gives an error result with extension, file, line and cause; its siblings are untouched', async () => {
  const bodies = Object.fromEntries(causes.map(([, body], i) => [`raise_${i}`, `\n${body}`]));
  home.extension('raiser.lua', extensionOf('raiser', { ...bodies, fine: 'panto.async.sleep(0.1)\nreturn "fine"' }));
  const tools = ['fine', ...Object.keys(bodies), 'fine'];
  const { status, sent, results } = await home.turns([tools.map((name) => ({ name, input: {} }))]);
  expect(status).toBe(0);
  expect(sent[0]?.map(({ name }) => name)).toEqual(tools);
  expect(sent[0]?.filter(({ is_error }) => !is_error).map(({ content }) => content)).toEqual(['fine', 'fine']);
  for (const [i, [, , cause]] of causes.entries()) {
    const result = results.find(({ name }) => name === `raise_${i}`);
    // Each tool takes three lines; its body is on the last but one.
    expect(result?.error).toMatchObject({ message: cause, where: expect.stringMatching(/^raiser .*raiser\.lua:\d+$/) });
    expect(result?.content).toContain(cause);
    expect(result?.content).toMatch(/raiser\.lua:\d+/);
  }
});

test('an unknown tool, arguments that are no JSON and arguments against the schema fail alone, each with its cause', async () => {
  home.extension(
    'typed.lua',
    extensionOf(
      'typed',
      { typed: 'return "n = " .. input.n' },
      '',
      '{ type = "object", properties = { n = { type = "integer" } }, required = { "n" } }',
    ),
  );
  const [good, unknown, notJson, cut, list, wrongType, missing, goodToo] = await home.calls(
    { name: 'typed', input: { n: 1 } },
    { name: 'no_such_tool', input: {} },
    { name: 'typed', input_text: 'n = 1' },
    { name: 'typed', input_text: '{"n": 1' },
    { name: 'typed', input_text: '[1]' },
    { name: 'typed', input: { n: 'one' } },
    { name: 'typed', input: {} },
    { name: 'typed', input: { n: 2 } },
  );
  expect([good?.content, goodToo?.content]).toEqual(['n = 1', 'n = 2']);
  for (const [result, cause] of [
    [unknown, /no_such_tool|no tool of this name/],
    [notJson, /JSON/],
    [cut, /JSON/],
    [list, /object/],
    [wrongType, /integer/],
    [missing, /"?n"?/],
  ] as const) {
    expect(result).toMatchObject({ is_error: true, content: expect.stringMatching(cause) });
  }
});

test('an error in a luv callback is reported with extension, file and line while its call goes on', async () => {
  home.extension(
    'late.lua',
    extensionOf('late', {
      late: `local first, second = uv.new_timer(), uv.new_timer()
        first:start(10, 0, function() error("boom") end)
        panto.async.await(function(resume) second:start(50, 0, resume) end)
        return "went on"`,
    }),
  );
  const { status, sent, warnings, events } = await home.turns([
    [
      { name: 'late', input: {} },
      { name: 'late', input: {} },
    ],
  ]);
  expect([status, sent[0]?.map(({ content }) => content)]).toEqual([0, ['went on', 'went on']]);
  expect(warnings).toEqual([1, 2].map(() => expect.stringMatching(/^panto: warning: late .*late\.lua:\d+: boom$/)));
  expect(events.filter(({ type }) => type === 'notice')).toHaveLength(2);
});

test('one failing call between two good ones costs itself only', async () => {
  home.extension('mixed.lua', extensionOf('mixed', { ok: 'panto.async.sleep(0.05) return "ok"', bad: 'error(nil)' }));
  const results = await home.calls({ name: 'ok', input: {} }, { name: 'bad', input: {} }, { name: 'ok', input: {} });
  expect(results.map(({ is_error }) => is_error)).toEqual([false, true, false]);
});

test('a write to a peer that has gone is an error in Lua, not the end of the process', async () => {
  home.extension(
    'pipes.lua',
    extensionOf('pipes', {
      child: `local input = uv.new_pipe()
        panto.async.await(function(resume) assert(uv.spawn("true", { stdio = { input } }, resume)) end)
        local err = panto.async.await(function(resume) input:write(("x"):rep(1e6), resume) end)
        return tostring(err)`,
      socket: `local server, socket = uv.new_tcp(), uv.new_tcp()
        server:bind("127.0.0.1", 0)
        server:listen(1, function() local peer = uv.new_tcp() server:accept(peer) peer:close_reset() end)
        panto.async.await(function(resume) socket:connect("127.0.0.1", server:getsockname().port, resume) end)
        panto.async.sleep(0.2)
        local first = panto.async.await(function(resume) socket:write(("x"):rep(1e6), resume) end)
        local second = panto.async.await(function(resume) socket:write("x", resume) end)
        server:close()
        return tostring(first or second)`,
    }),
  );
  const [child, socket] = await home.calls({ name: 'child', input: {} }, { name: 'socket', input: {} });
  expect(child?.content).toBe('EPIPE');
  expect(socket?.content).toMatch(/^(EPIPE|ECONNRESET)$/);
});
