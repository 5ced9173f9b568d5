// JSON between JavaScript and Lua: the files of JSONTestSuite, and the rules of our own.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import type { CallResult, Json } from '../lib/core/types.js';
import { errorOf, LuaHarness } from './lua-support.js';

// test_parsing/ of https://github.com/nst/JSONTestSuite
const suite = process.env.PANTO_JSON_SUITE ?? join(packageRoot, '../shared/data/JSONTestSuite/test_parsing');
const files = existsSync(suite) ? readdirSync(suite).filter((name) => name.endsWith('.json')) : [];
const described = files.length > 0 ? describe : describe.skip;
if (files.length === 0) console.warn(`JSONTestSuite is not at ${suite}: its tests are skipped`);
const named = (prefix: string) => files.filter((name) => name.startsWith(prefix));

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start();
  await lua.tools('json', {
    // The bytes of a file through the codec and back.
    recode: `local file = assert(io.open(input.path, "rb"))
      local text = file:read "a"
      file:close()
      local value, err = panto.json.decode(text)
      if err then error(err, 0) end
      return assert(panto.json.encode(value))`,
    echo: 'return { content = assert(panto.json.encode(input.v)), details = { v = input.v } }',
    chunk: 'return load(input.chunk)()',
    encode: 'local text, err = panto.json.encode(load("return " .. input.chunk)()) return text or "refused: " .. err',
    decode: `local value, err = panto.json.decode(input.text)
      if err then return "refused: " .. err end
      return math.type(value) and math.type(value) .. " " .. ("%.17g"):format(value) or type(value) .. " " .. tostring(value)`,
  });
});
afterAll(() => lua.stop());

/** A tool's result; every call gets one, also when the runtime is in trouble. */
const recode = (name: string) => lua.call('recode', { path: join(suite, name) });
const contentOf = (result: CallResult): string => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.content as string;
};

/** JSON.parse takes the bytes as UTF-8, and so does the suite. */
const parsed = (name: string): Json => JSON.parse(readFileSync(join(suite, name), 'utf8')) as Json;

described('JSONTestSuite through panto.json', () => {
  test('the suite is whole', () => {
    expect([named('y_').length, named('n_').length, named('i_').length]).toEqual([95, 188, 35]);
  });

  test.each(named('y_'))('%s is read and written as JSON.parse reads it', async (name) => {
    expect(JSON.parse(contentOf(await recode(name)))).toStrictEqual(parsed(name));
  });

  test.each(named('n_'))('%s is refused with one line', async (name) => {
    const { kind, message } = errorOf(await recode(name));
    expect(kind).toBe('failed');
    expect(message).toMatch(/^[^\n]+$/);
  });

  // What a parser may decide. A number is refused when Lua has none for it; strings are refused when they are no Unicode.
  const accepted = new Set([
    'i_number_double_huge_neg_exp.json',
    'i_number_real_underflow.json',
    'i_structure_500_nested_arrays.json',
  ]);
  test.each(named('i_'))('%s is decided without harm', async (name) => {
    const result = await recode(name);
    expect([name, result.ok]).toEqual([name, accepted.has(name)]);
    if (result.ok) expect(JSON.parse(contentOf(result))).toStrictEqual(parsed(name));
    else expect(result.error.message).toMatch(/^[^\n]+$/);
  });
});

described('JSONTestSuite as the input of a tool', () => {
  test.each(named('y_'))('%s comes back as it was', async (name) => {
    const [settled] = await lua.batch([{ tool: 'echo', text: `{"v": ${readFileSync(join(suite, name), 'utf8')}}` }]);
    const result = settled!.result;
    expect(JSON.parse(contentOf(result))).toStrictEqual(parsed(name));
    // A null at the top is an absent field of the result.
    if (result.ok && parsed(name) !== null) expect((result.details as { v: Json }).v).toStrictEqual(parsed(name));
  });

  // Text with a NUL outside of an escape is refused before a source sees it; the parts of a batch are joined by NUL.
  const withoutNul = named('n_').filter((name) => !readFileSync(join(suite, name)).includes(0));
  test.each(withoutNul)('%s gives that call an error', async (name) => {
    const [settled] = await lua.batch([{ tool: 'echo', text: `{"v": ${readFileSync(join(suite, name), 'utf8')}}` }]);
    expect(errorOf(settled!.result).message).toMatch(/^[^\n]+$/);
  });
});

describe('numbers', () => {
  test.each([
    ['9223372036854775807', 'integer 9.2233720368547758e+18'],
    ['-9223372036854775808', 'integer -9.2233720368547758e+18'],
    ['10000', 'integer 10000'],
    ['1.0', 'float 1'],
    ['1e2', 'float 100'],
    ['-0', 'float -0'],
    ['-0.0', 'float -0'],
    ['0', 'integer 0'],
  ])('%s is the Lua number %s', async (text, expected) => {
    expect(await lua.text('decode', { text })).toBe(expected);
  });

  test.each(['9223372036854775808', '-9223372036854775809', '1e400', '123456789012345678901234567890'])(
    '%s is refused, since Lua has no such number',
    async (text) => {
      expect(await lua.text('decode', { text: `{"a":[1,${text}]}` })).toMatch(
        /^refused: .*a\[1\].*(out of range|does not fit)/,
      );
    },
  );

  test('integers of 64 bits go both ways exactly', async () => {
    const text =
      '{"v":{"id":9007199254740993,"ts":1686041011364000000,"neg":-1,"min":-9223372036854775808,"low":-2147483649}}';
    await lua.tools('exact', { exact: 'return (assert(panto.json.encode(input.v, { sort_keys = true })))' });
    const [settled] = await lua.batch([{ tool: 'exact', text }]);
    expect(contentOf(settled!.result)).toBe(
      '{"id":9007199254740993,"low":-2147483649,"min":-9223372036854775808,"neg":-1,"ts":1686041011364000000}',
    );
  });

  test('an integer from the model is an integer in the handler', async () => {
    await lua.tools('port', {
      port: 'return string.format("%d", input.p) .. ":" .. input.p .. " " .. math.type(input.p) .. " " .. math.type(input.f)',
    });
    expect(await lua.text('port', { p: 10000, f: 1.5 })).toBe('10000:10000 integer float');
  });

  test.each([
    ['math.mininteger', '-9223372036854775808'],
    ['2^53', '9007199254740992.0'],
    ['-0.0', '-0.0'],
    ['1e308', '1e308'],
    ['5e-324', '5e-324'],
    ['0.1', '0.1'],
    ['{ 0/0 }', 'refused: .*\\[1\\]: NaN cannot be represented in JSON'],
    ['{ a = { 1, math.huge } }', 'refused: .*\\.a\\[2\\]: an infinite number cannot be represented in JSON'],
    ['{ a = { b = -math.huge } }', 'refused: .*\\.a\\.b: an infinite number cannot be represented in JSON'],
  ])('%s is written as %s', async (chunk, expected) => {
    expect(await lua.text('encode', { chunk })).toMatch(new RegExp(`^${expected}$`));
  });
});

describe('tables', () => {
  test.each([
    ['{}', '{}'],
    ['panto.json.array {}', '[]'],
    ['{ 1, "a", true, panto.json.null }', '[1,"a",true,null]'],
    ['{ a = panto.json.null }', '{"a":null}'],
    ['panto.json.decode "[]"', '[]'],
    ['panto.json.decode "{}"', '{}'],
    ['{ [1] = 1, x = 2 }', 'refused: .*: the table (mixes|has keys).*'],
    ['{ 1, nil, 3 }', 'refused: .*: the array has holes.*'],
    ['{ a = { [2] = 1 } }', 'refused: .*\\.a: .*(holes|neither).*'],
    ['{ [1.5] = 1 }', 'refused: .*neither strings nor 1\\.\\.n'],
    ['{ [true] = 1 }', 'refused: .*boolean key.*'],
    ['{ a = print }', 'refused: .*\\.a: a function cannot be represented in JSON'],
    ['{ a = { coroutine.create(print) } }', 'refused: .*\\.a\\[1\\]: a thread cannot be represented in JSON'],
    ['io.stdout', 'refused: .*userdata cannot be represented in JSON'],
    ['setmetatable({}, { __index = { a = 1 }, __pairs = error })', '{}'],
  ])('%s is written as %s', async (chunk, expected) => {
    expect(await lua.text('encode', { chunk })).toMatch(
      new RegExp(`^${expected.startsWith('refused') ? expected : expected.replace(/[[\]{}]/g, '\\$&')}$`),
    );
  });

  test('empty arrays and objects keep their kind through a tool', async () => {
    const value = { a: {}, b: [], c: [[]], d: [{}], e: null, f: [1, null, 3] };
    const result = await lua.call('echo', { v: value });
    expect(JSON.parse(contentOf(result))).toStrictEqual(value);
    expect(result).toMatchObject({ details: { v: value } });
  });

  test('null is no nil, and an array with nulls keeps its length', async () => {
    await lua.tools('nulls', {
      nulls: 'return table.concat({ tostring(input.a == nil), tostring(input.a == panto.json.null), #input.b }, " ")',
    });
    expect(await lua.text('nulls', { a: null, b: [1, null, 3] })).toBe('false true 3');
  });

  test.each([
    ['local t = {} t.self = t return { details = t }', /details\.self: the table contains itself/],
    ['local t = { a = {} } t.a.b = { t } return { details = t }', /details\.a\.b\[1\]: the table contains itself/],
    ['local t = setmetatable({}, {}) getmetatable(t).__index = t t[1] = t return { details = t }', /contains itself/],
    ['local t = {} for i = 1, 100000 do t = { t } end return { details = t }', /nested deeper than 512 levels/],
    [
      'local t = {} for i = 1, 100000 do t = { t } end return panto.json.encode(t) or error((select(2, panto.json.encode(t))), 0)',
      /deeper than 512/,
    ],
    [
      'return { details = { n = { 1, 2^53 | 0, (2^53 | 0) + 1 } } }',
      /details\.n\[3\]: the integer 9007199254740993 is beyond 2\^53/,
    ],
    ['return { details = { n = 0/0 } }', /details\.n: NaN/],
    ['return { content = "x", details = { f = print } }', /details\.f: a function/],
  ])('%s is an error that names the place', async (chunk, message) => {
    expect(errorOf(await lua.call('chunk', { chunk })).message).toMatch(message);
  });

  test('a table that is met twice without a cycle is written twice', async () => {
    expect(await lua.text('encode', { chunk: '(function() local t = { 1 } return { t, t } end)()' })).toBe('[[1],[1]]');
  });

  test('deep input is an error result or a success, never a crash', async () => {
    const nested = (depth: number) => ({ tool: 'echo', text: `{"v":${'['.repeat(depth)}${']'.repeat(depth)}}` });
    // {"v": …} is a level, and `details` of the result adds one more.
    const results = (await lua.batch([nested(500), nested(512), nested(10_000), nested(200_000)])).map(
      ({ result }) => result,
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, false, false, false]);
    for (const result of results.slice(1)) expect(errorOf(result).message).toMatch(/nested deeper than 512 levels/);
    expect(await lua.text('encode', { chunk: '1' })).toBe('1');
  });
});

describe('strings', () => {
  test('NUL bytes go both ways', async () => {
    await lua.tools('nul', { nul: 'return #input.s .. "ab\\0cd"' });
    expect(await lua.text('nul', { s: 'x\0y\0' })).toBe('4ab\0cd');
    const [settled] = await lua.batch([{ tool: 'echo', text: '{"v":{"k\\u0000ey":"\\u0000"}}' }]);
    expect(JSON.parse(contentOf(settled!.result))).toStrictEqual({ 'k\0ey': '\0' });
  });

  test.each([
    ['a lone byte', '"a\\xffb"', 'a�b'],
    ['a sequence that is cut', '"\\xe2\\x82"', '�'],
    ['a surrogate', '"\\xed\\xa0\\x80!"', '���!'],
    ['an overlong NUL', '"\\xc0\\x80"', '��'],
    ['what is valid', '"\\u{20ac}\\u{1f600}"', '€😀'],
  ])('%s leaves as valid UTF-8, as text, in details and as a key', async (_name, literal, expected) => {
    expect(await lua.text('chunk', { chunk: `return ${literal}` })).toBe(expected);
    const chunk = `return { content = ${literal}, details = { [${literal}] = { ${literal} } } }`;
    expect(await lua.call('chunk', { chunk })).toMatchObject({
      content: expected,
      details: { [expected]: [expected] },
    });
  });

  test('an error with bytes of any kind is valid text', async () => {
    expect(errorOf(await lua.call('chunk', { chunk: 'error("a\\xff\\0b", 0)' })).message).toBe('a�\0b');
  });

  test('the keys of JavaScript’s prototypes are plain keys', async () => {
    const [settled] = await lua.batch([{ tool: 'echo', text: '{"v":{"__proto__":{"x":1},"constructor":2}}' }]);
    expect(contentOf(settled!.result)).toMatch(/"__proto__":\{"x":1\}/);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

describe('schemas', () => {
  const schemaOf = async (name: string, schema: string): Promise<Json> => {
    await lua.load(
      `${name}.lua`,
      `return { name = "${name}", activate = function(ext) ext.register_tool { name = "${name}", description = "d",
        schema = ${schema}, handler = function() return "" end } end }`,
    );
    return lua.runtime.source.tools.find((tool) => tool.name === name)!.inputSchema as Json;
  };

  test('an empty table where JSON Schema wants an array is one', async () => {
    const schema =
      '{ type = "object", properties = { a = { enum = {}, properties = {} } }, required = {}, anyOf = {} }';
    expect(await schemaOf('empty_required', schema)).toStrictEqual({
      type: 'object',
      properties: { a: { enum: [], properties: {} } },
      required: [],
      anyOf: [],
    });
  });

  test('a property that has the name of such a keyword is a schema', async () => {
    const schema = `{ type = "object", properties = { required = {}, type = {}, enum = { properties = { oneOf = {} } } },
      ["$defs"] = { examples = {} }, required = { "type" } }`;
    expect(await schemaOf('named_as_keyword', schema)).toStrictEqual({
      type: 'object',
      properties: { required: {}, type: {}, enum: { properties: { oneOf: {} } } },
      $defs: { examples: {} },
      required: ['type'],
    });
  });

  test('a property called properties is a schema, and empty tables in data stay objects', async () => {
    const schema = `{ type = "object", properties = { properties = { required = {} } },
      default = { required = {} }, const = { type = {} }, examples = { { enum = {} } } }`;
    expect(await schemaOf('property_named_properties', schema)).toStrictEqual({
      type: 'object',
      properties: { properties: { required: [] } },
      default: { required: {} },
      const: { type: {} },
      examples: [{ enum: {} }],
    });
  });
});
