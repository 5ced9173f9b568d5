import { pathToFileURL } from 'node:url';
import { ToolRegistry } from './registry.js';
import type { Json, Tool, ToolDecl, ToolSource } from './types.js';

const declare = (name: string, inputSchema: Json = { type: 'object' }): ToolDecl => ({
  name,
  description: `The tool ${name}`,
  inputSchema,
});
const native = (name: string): Tool => ({ ...declare(name), module: pathToFileURL(`/tools/${name}.js`) });
const source = (name: string, ...tools: ToolDecl[]): ToolSource & { tools: ToolDecl[] } => ({
  name,
  tools,
  async invokeBatch() {},
  async dispose() {},
});
const names = (registry: ToolRegistry) => registry.declarations().map((tool) => tool.name);

test('a tool is found as what it is: a native tool, or one of a source', () => {
  const registry = new ToolRegistry();
  const read = native('read');
  const lua = source('lua', declare('search'));
  expect(registry.registerTool(read).refused).toBeUndefined();
  expect(registry.registerToolSource(lua).refused).toEqual([]);
  expect(registry.lookup('read')).toEqual({ kind: 'single', tool: read });
  expect(registry.lookup('search')).toEqual({ kind: 'source', source: lua });
  expect(registry.lookup('toString')).toBeUndefined();
  expect(registry.declaration('search')?.description).toBe('The tool search');
});

test.each(['my tool!', 'a.b', 'x'.repeat(65), 'выборка', '', 'a\n'])(
  'the name %j is refused with the rule, and the others stay',
  (name) => {
    const registry = new ToolRegistry();
    const { refused } = registry.registerToolSource(source('lua', declare('good'), declare(name), declare('fine')));
    expect(refused).toEqual([
      {
        name,
        reason: `tool ${JSON.stringify(name)} of lua: a tool name has 1 to 64 of the characters A-Z a-z 0-9 _ -`,
      },
    ]);
    expect(names(registry)).toEqual(['good', 'fine']);
    expect(registry.registerTool(native(name)).refused?.reason).toContain('a tool name has');
  },
);

test('a taken name is refused with both owners named; the first stays', () => {
  const registry = new ToolRegistry();
  registry.registerTool(native('read'));
  registry.registerToolSource(source('one', declare('search')));
  const { refused } = registry.registerToolSource(source('two', declare('search'), declare('read'), declare('own')));
  expect(refused).toEqual([
    { name: 'search', reason: 'tool "search" of two: the name is taken by one', owner: 'one' },
    { name: 'read', reason: 'tool "read" of two: the name is taken by native (/tools/read.js)', owner: 'native' },
  ]);
  expect(registry.registerTool(native('own')).refused).toEqual({
    name: 'own',
    reason: 'tool "own" of native (/tools/own.js): the name is taken by two',
    owner: 'two',
  });
  expect(names(registry)).toEqual(['read', 'search', 'own']);
});

test.each<[string, Json]>([
  ['no object', 'text'],
  ['a list', []],
  ['of no type', {}],
  ['of another type', { type: 'array' }],
])('a schema that is %s is refused', (_name, schema) => {
  const { refused } = new ToolRegistry().registerToolSource(source('lua', declare('x', schema)));
  expect(refused).toEqual([
    { name: 'x', reason: 'tool "x" of lua: its schema must be a JSON Schema with type "object"' },
  ]);
});

test('a source may declare a name once', () => {
  const registry = new ToolRegistry();
  const { refused } = registry.registerToolSource(source('lua', declare('x'), declare('x')));
  expect(refused.map((refusal) => refusal.reason)).toEqual(['tool "x" of lua: declared twice']);
});

test('refresh adopts what a source offers now, in its place, and leaves other owners alone', () => {
  const registry = new ToolRegistry();
  const lua = source('lua', declare('a'), declare('b'));
  const registration = registry.registerToolSource(lua);
  const read = registry.registerTool(native('read'));
  lua.tools = [declare('b'), declare('read'), declare('c')];
  expect(names(registry)).toEqual(['a', 'b', 'read']);
  expect(registration.refresh().map((refusal) => refusal.name)).toEqual(['read']);
  expect(registration.refused).toHaveLength(1);
  expect(names(registry)).toEqual(['b', 'read', 'c']);
  expect(registry.lookup('read')?.kind).toBe('single');
  read.dispose();
  expect(registration.refresh()).toEqual([]);
  expect(registry.lookup('read')?.kind).toBe('source');
  read.dispose();
  registration.dispose();
  expect(names(registry)).toEqual([]);
});

test('a snapshot does not see later changes', () => {
  const registry = new ToolRegistry();
  const tool = registry.registerTool(native('read'));
  const before = registry.snapshot();
  tool.dispose();
  expect(before.lookup('read')?.owner).toBe('native');
  expect(before.declarations).toHaveLength(1);
  expect(registry.snapshot().lookup('read')).toBeUndefined();
});

test('the full check takes out tools whose schema is bad, once, and says why', async () => {
  const registry = new ToolRegistry();
  const bad: Json = { type: 'object', properties: { a: { type: 'strin' } } };
  const pattern: Json = { type: 'object', properties: { a: { pattern: '(' } } };
  const old: Json = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'same', type: 'object' };
  registry.registerToolSource(
    source('lua', declare('bad', bad), declare('pattern', pattern), declare('one', old), declare('two', { ...old })),
  );
  const refusals = await registry.check();
  expect(refusals.map((refusal) => refusal.name)).toEqual(['bad', 'pattern']);
  expect(refusals[0]?.reason).toMatch(/^tool "bad" of lua: the schema is invalid: \/properties\/a\/type/);
  expect(refusals[1]?.reason).toMatch(/^tool "pattern" of lua: the schema does not compile: .*Invalid regular/);
  expect(names(registry)).toEqual(['one', 'two']);
  expect(await registry.check()).toEqual([]);
});
