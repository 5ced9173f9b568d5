import { compileSchema } from './schema.js';
import type { Json } from './types.js';

test.each<[Json, Json, string | undefined]>([
  [{ type: 'object', required: ['a'] }, { a: 1 }, undefined],
  [{ type: 'object', required: ['constructor'] }, {}, "must have required property 'constructor'"],
  [{ type: 'object', properties: { a: { enum: [1, 'b'] } } }, { a: 2 }, '/a: must be one of [1,"b"]'],
  [{ type: 'object', properties: { 'x/y': { type: 'null' } } }, { 'x/y': 1 }, '/x~1y: must be null'],
  [{ type: 'object', additionalProperties: false }, { a: 1, b: 1 }, "unknown property 'a'; unknown property 'b'"],
  [
    { type: 'object', required: ['a', 'b', 'c', 'd', 'e'] },
    {},
    "must have required property 'a'; must have required property 'b'; must have required property 'c'; and 2 more",
  ],
  [{ type: 'object', prefixItems: 1, properties: { a: { format: 'uri', 'x-own': true } } }, { a: 'b c' }, 'schema'],
  [{ $async: true, type: 'object', required: ['a'] }, {}, "must have required property 'a'"],
])('%j on %j says %j', async (schema, value, problem) => {
  if (problem === 'schema') await expect(compileSchema(schema)).rejects.toThrow('prefixItems');
  else expect((await compileSchema(schema))(value)).toBe(problem);
});

test('the same schema is compiled once, also when it is declared anew', async () => {
  const schema: Json = { type: 'object', properties: { once: { type: 'string' } } };
  expect(await compileSchema(structuredClone(schema))).toBe(await compileSchema(schema));
});
