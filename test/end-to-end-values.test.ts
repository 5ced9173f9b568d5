// Values and suspensions through the whole way: the model's text, core, JSON, Lua, and back to the model.
import { buildSharedTree } from './cli-support.js';
import { extensionOf, Home } from './end-to-end-support.js';

let home: Home;
let removeTree: () => void;
beforeAll(async () => {
  removeTree = await buildSharedTree();
});
afterAll(() => removeTree());
beforeEach(() => {
  home = new Home();
  home.extension(
    'echo.lua',
    extensionOf('echo', {
      echo: 'return assert(panto.json.encode(input))',
      echo_details: 'return { content = "", details = input }',
    }),
  );
});
afterEach(() => home.dispose());

test.each([
  ['empty objects and arrays', '{"a":{},"b":[],"c":[[]],"d":[{}]}'],
  ['integers of 64 bits', '{"id":9007199254740993,"ts":1686041011364000000,"neg":-1}'],
  ['negative integers', '{"a":-1,"b":-2147483649,"c":4294967296,"d":-9223372036854775808}'],
  ['integers and floats', '{"a":10000,"b":1.5,"c":-0.0}'],
  ['null', '{"a":null,"b":[1,null,3]}'],
  ['NUL and other characters', '{"a":"x\\u0000y","b":"ä€😀"}'],
])('%s come back as they were', async (_, text) => {
  const [result] = await home.calls({ name: 'echo', input_text: text });
  const canonical = (json: string) =>
    json
      .slice(1, -1)
      .split(/,(?="\w+":)/)
      .sort();
  expect(result).toMatchObject({ is_error: false });
  expect(canonical(result?.content as string)).toEqual(canonical(text));
});

test('what Lua sees of the arguments', async () => {
  home.extension(
    'seen.lua',
    extensionOf('seen', {
      seen: `return table.concat({ ("%d"):format(input.port), "host:" .. input.port, math.type(input.port), math.type(input.half),
        tostring(input.null == panto.json.null), #input.list, #input.nul }, " ")`,
    }),
  );
  const input_text = '{"port":10000,"half":1.5,"null":null,"list":[1,null,3],"nul":"ab\\u0000cd"}';
  const [result] = await home.calls({ name: 'seen', input_text });
  expect(result?.content).toBe('10000 host:10000 integer float true 3 5');
});

test('results that JSON cannot hold are errors that name the place; deep ones never crash', async () => {
  home.extension(
    'odd.lua',
    extensionOf('odd', {
      cycle: 'local t = {} t.self = t return { content = "", details = t }',
      deep: 'local t = {} for _ = 1, 100000 do t = { t } end return { content = "", details = t }',
      nan: 'return { content = "", details = { n = 0 / 0 } }',
      huge: 'return { content = "", details = { n = math.maxinteger } }',
      inherited: 'return { content = "", details = setmetatable({}, { __index = function(t) return t end }) }',
      nul: 'return "ab\\0cd"',
      bytes: 'return "\\xff\\xfe"',
    }),
  );
  const names = ['cycle', 'deep', 'nan', 'huge', 'inherited', 'nul', 'bytes'];
  const results = await home.calls(...names.map((name) => ({ name, input: {} })));
  const [cycle, deep, nan, huge, inherited, nul, bytes] = results;
  expect(cycle).toMatchObject({ is_error: true, content: expect.stringMatching(/details\.self/) });
  expect(deep).toMatchObject({ is_error: true, content: expect.stringMatching(/details/) });
  expect(nan).toMatchObject({ is_error: true, content: expect.stringMatching(/details\.n/) });
  expect(huge).toMatchObject({ is_error: true, content: expect.stringMatching(/details\.n/) });
  expect(inherited?.is_error).toBe(false);
  expect(nul?.content).toBe('ab\0cd');
  expect(bytes?.content).toBe('\ufffd\ufffd');
});

test('arguments that are nested deeply succeed or fail with a cause', async () => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const [shallow, deep, deeper] = await home.calls(
    { name: 'echo', input_text: nested(400) },
    { name: 'echo', input_text: nested(10_000) },
    { name: 'echo', input_text: nested(1_000_000) },
  );
  expect(shallow).toMatchObject({ is_error: false, content: nested(400) });
  for (const result of [deep, deeper])
    expect(result).toMatchObject({ is_error: true, content: expect.stringMatching(/deep|nest/) });
});

test('a handler may wait in pcall, iterators, metamethods and closers, and is told where it cannot', async () => {
  const works = {
    pcall: 'return select(2, pcall(function() panto.async.sleep(0.01) return "waited" end))',
    xpcall: 'return select(2, xpcall(function() panto.async.sleep(0.01) return "waited" end, debug.traceback))',
    iterator: 'for v in function() panto.async.sleep(0.01) return "waited" end do return v end',
    index: 'return setmetatable({}, { __index = function() panto.async.sleep(0.01) return "waited" end }).x',
    closer:
      'local out do local c <close> = setmetatable({}, { __close = function() panto.async.sleep(0.01) out = "waited" end }) end return out',
  };
  const fails = {
    gsub: 'return (("a"):gsub("a", function() panto.async.sleep(0.01) return "b" end))',
    sort: 'table.sort({ 2, 1 }, function() panto.async.sleep(0.01) return true end)',
    tostring: 'return tostring(setmetatable({}, { __tostring = function() panto.async.sleep(0.01) return "" end }))',
  };
  home.extension('waits.lua', extensionOf('waits', { ...works, ...fails }));
  const names = [...Object.keys(works), ...Object.keys(fails)];
  const turn = names.map((name) => ({ name, input: {} }));
  const { sent } = await home.turns([turn, turn]);
  for (const results of sent) {
    for (const result of results.slice(0, 5)) expect(result).toMatchObject({ is_error: false, content: 'waited' });
    for (const result of results.slice(5)) {
      expect(result).toMatchObject({
        is_error: true,
        content: expect.stringMatching(/waits\.lua:\d+.*cannot await here/s),
      });
    }
  }
});

test('a result of 50 MB arrives whole or is cut with a word about it, and 2000 calls of one turn are all answered', async () => {
  home.extension(
    'much.lua',
    extensionOf('much', { much: 'return ("x"):rep(50 * 1024 * 1024)', one: 'return tostring(input.n)' }),
  );
  const big = await home.turns([[{ name: 'much', input: {} }]]);
  expect(big.status).toBe(0);
  const many = await home.calls(...Array.from({ length: 2000 }, (_, n) => ({ name: 'one', input: { n } })));
  expect(many.map(({ content }) => Number(content))).toEqual(many.map((_, n) => n));
});
