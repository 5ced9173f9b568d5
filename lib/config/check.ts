// Checks a value against our config schema: the part of JSON Schema that schema.ts uses, with messages for people.
// A general validator would cost more at each start than the rest of the config does, and could not say where and what instead.
import { globProblem } from './glob.js';
import { type Schema, unknownKeyHints } from './schema.js';
import { closest } from './suggest.js';
import { parseDuration, parseSize } from './units.js';

export type KeyPath = readonly (string | number)[];

export interface Issue {
  readonly path: KeyPath;
  /** Which of the two the message is about: the key, or what was given to it. */
  readonly at: 'key' | 'value';
  readonly message: string;
}

/** All that is wrong with the value, in document order; `root` is the schema of the whole file. */
export function checkConfig(root: Schema, value: unknown): Issue[] {
  const issues: Issue[] = [];
  check(root, value, []);
  return issues;

  function report(path: KeyPath, message: string, at: Issue['at'] = 'value'): void {
    issues.push({ path, at, message });
  }

  function check(schema: Schema, value: unknown, path: KeyPath): void {
    if (schema.type === undefined) checkJson(value, path);
    else if (schema.type === 'object') checkTable(schema, value, path);
    else if (schema.type === 'array') checkList(schema, value, path);
    else checkScalar(schema, value, path);
  }

  function checkTable(schema: Schema, value: unknown, path: KeyPath): void {
    if (!isTable(value)) {
      report(path, `${keyName(path)} must be a table, not ${kindOf(value)}`);
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      const innerPath = [...path, key];
      const known = property(schema, key) ?? (schema.additionalProperties || undefined);
      if (known === undefined) report(innerPath, unknownKey(schema, innerPath), 'key');
      else check(known, inner, innerPath);
    }
  }

  function checkList(schema: Schema, value: unknown, path: KeyPath): void {
    if (!Array.isArray(value)) {
      const hint = typeof value === 'string' && !schema.items?.['x-secret'] ? `; write [${JSON.stringify(value)}]` : '';
      report(path, `${keyName(path)} must be a list of strings, not ${kindOf(value)}${hint}`);
      return;
    }
    for (const [index, item] of value.entries()) check(schema.items!, item, [...path, index]);
  }

  function checkScalar(schema: Schema, value: unknown, path: KeyPath): void {
    const problem = scalarProblem(schema, value);
    if (problem !== undefined) report(path, `${keyName(path)} ${problem}`);
  }

  /** Settings of extensions are free, but they have to reach Lua as JSON. */
  function checkJson(value: unknown, path: KeyPath): void {
    if (typeof value === 'number' && !Number.isFinite(value)) {
      report(path, `${keyName(path)} must be a finite number, not ${value}`);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        checkJson(inner, [...path, Array.isArray(value) ? Number(key) : key]);
      }
    }
  }

  function unknownKey(schema: Schema, path: KeyPath): string {
    const key = String(path.at(-1));
    for (const [pattern, hint] of Object.entries(unknownKeyHints)) {
      const parts = pattern.split('.');
      if (parts.length === path.length && parts.every((part, i) => part === '*' || part === path[i])) return hint;
    }
    const where = path.length === 1 ? '' : ` in [${keyName(path.slice(0, -1))}]`;
    const known = Object.keys(schema.properties ?? {});
    const near = closest(key, known);
    if (near !== undefined) return `unknown key ${keyName([key])}${where}; did you mean ${near}?`;
    const sections = Object.entries(root.properties ?? {}).filter(([, candidate]) => property(candidate, key));
    const elsewhere = sections.map(([name]) => `[${name}]`).join(' or ');
    if (elsewhere !== '') return `unknown key ${keyName([key])}${where}; it belongs in ${elsewhere}`;
    return `unknown key ${keyName([key])}${where}; known are ${known.join(', ')}`;
  }
}

/** The rest of a sentence that begins with the key's name; undefined if the value is right. */
function scalarProblem(schema: Schema, value: unknown): string | undefined {
  const mustBe = (expected: string): string =>
    `must be ${expected}${schema['x-secret'] && typeof value === 'string' ? '' : `, not ${describe(value)}`}`;
  if (schema.type === 'boolean') return typeof value === 'boolean' ? undefined : mustBe('true or false');
  if (schema.type === 'integer') {
    const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema;
    if (Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum) return undefined;
    return mustBe(
      `a whole number ${schema.maximum === undefined ? `from ${minimum} on` : `from ${minimum} to ${maximum}`}`,
    );
  }
  if (schema.enum !== undefined) {
    const words = schema.enum.map((word) => JSON.stringify(word)).join(', ');
    return schema.enum.includes(value as string) ? undefined : mustBe(`one of ${words}`);
  }
  if (typeof value !== 'string') return mustBe(textExpectation(schema));
  switch (schema['x-unit']) {
    case undefined:
      return new RegExp(schema.pattern ?? '').test(value) ? undefined : mustBe(textExpectation(schema));
    case 'glob': {
      const problem = globProblem(value);
      return problem === undefined ? undefined : `holds the pattern ${describe(value)}, which is refused: ${problem}`;
    }
    default: {
      const parsed = schema['x-unit'].endsWith('duration') ? parseDuration(value) : parseSize(value);
      if (typeof parsed === 'string') return mustBe(parsed);
      return parsed === 0 && schema['x-unit'].startsWith('positive') ? mustBe('more than zero') : undefined;
    }
  }
}

function textExpectation(schema: Schema): string {
  switch (schema['x-unit']) {
    case 'glob':
      return 'a pattern such as "agent.*"';
    case 'duration':
    case 'positive-duration':
      return 'a duration such as "2.5s"';
    case 'positive-size':
      return 'a size such as "512MB"';
    default:
      return schema['x-expected'] ?? 'a string';
  }
}

function property(schema: Schema, key: string): Schema | undefined {
  return schema.properties !== undefined && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  return isTable(value) ? 'a table' : `a ${typeof value}`;
}

function describe(value: unknown): string {
  if (typeof value === 'object') return kindOf(value);
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
}

/** A key path as TOML would write it: `extensions.settings."a.b"`, with list positions as `deny[0]`. */
export function keyName(path: KeyPath): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      const key = /^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part);
      return index === 0 ? key : `.${key}`;
    })
    .join('');
}
