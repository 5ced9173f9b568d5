// Reads one TOML file: its values, and on demand the place of each key and value in the text.
import { lstat, readFile, stat } from 'node:fs/promises';
import type { KeyPath } from './check.js';

/** One thing that is wrong with a config file. Lines and columns count from 1; 0 where the file as a whole is meant. */
export interface ConfigError {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** One line: what is wrong and what was expected. */
  readonly message: string;
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface TomlFile {
  readonly kind: 'file';
  readonly file: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Where the key stands (or its value begins); of the nearest table around it, if it has no place of its own. */
  place(path: KeyPath, at: 'key' | 'value'): Place;
}

export type ReadToml = TomlFile | { readonly kind: 'absent' } | { readonly kind: 'error'; readonly error: ConfigError };

/** Never rejects: a file that is not there is `absent`; one that cannot be read or parsed is an `error`. */
export async function readToml(file: string): Promise<ReadToml> {
  const failed = (message: string, place: Place = { line: 0, column: 0 }): ReadToml => ({
    kind: 'error',
    error: { file, ...place, message },
  });
  let text: string;
  try {
    // A pipe would block the start for ever.
    if (!(await stat(file)).isFile()) return failed('is not a regular file');
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return (await isLink(file)) ? failed('is a symbolic link to nothing') : { kind: 'absent' };
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return failed('is not valid UTF-8');
    return failed(`cannot be read: ${code ?? (error as Error).message}`);
  }
  // As a default import: in the bundle a CommonJS package has no named exports.
  const { default: toml } = await import('toml');
  const { default: grammar } = await import('toml/lib/parser.js');
  try {
    const values = toml.parse(text) as Record<string, unknown>;
    let places: Places | undefined;
    return {
      kind: 'file',
      file,
      values,
      place(path, at) {
        places ??= findPlaces(grammar.parse(text));
        return toPlace(text, lookUp(places, path, at));
      },
    };
  } catch (error) {
    const { message, place } = explainSyntaxError(error as TomlError);
    return failed(message, place);
  }
}

async function isLink(file: string): Promise<boolean> {
  return lstat(file).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

/** What the parser throws: grammar errors carry `location`, `found` and `expected`, all others `line` and `column`. */
interface TomlError extends Error {
  line?: number;
  column?: number;
  location?: { start: Place };
  found?: string | null;
}

function explainSyntaxError(error: TomlError): { message: string; place: Place } {
  const place = {
    line: error.line ?? error.location?.start.line ?? 0,
    column: error.column ?? error.location?.start.column ?? 0,
  };
  // The grammar's own message lists every character class that could have come; the place says more.
  if (error.location === undefined) return { message: error.message.replace(/\.$/, ''), place };
  const { found } = error;
  if (found === null || found === undefined) return { message: 'not valid TOML: the file ends too early', place };
  if (found === '\n' || found === '\r') {
    return { message: 'not valid TOML: the line ends too early (a quote or a value is missing)', place };
  }
  return { message: `not valid TOML: unexpected ${JSON.stringify(found)}`, place };
}

// ---- places: the parser's tree keeps the offset of every key and value, the parsed values do not.

type HeaderNode = { type: 'ObjectPath' | 'ArrayPath'; value: string[]; offset: number };
type AssignNode = { type: 'Assign' | 'InlineTableValue'; key: string[]; value: ValueNode; offset: number };
type ValueNode =
  | { type: 'Array'; value: ValueNode[]; offset: number }
  | { type: 'InlineTable'; value: AssignNode[]; offset: number }
  | { type: 'String' | 'Integer' | 'Float' | 'Boolean' | 'Date'; value: unknown; offset: number };
export type TomlNode = HeaderNode | AssignNode;

interface Offsets {
  readonly key: number;
  readonly value: number;
}
type Places = ReadonlyMap<string, Offsets>;

const placeKey = (path: KeyPath): string => JSON.stringify(path);

function findPlaces(tree: readonly TomlNode[]): Places {
  const places = new Map<string, Offsets>();
  /** How many elements each array of tables has so far. */
  const tables = new Map<string, number>();
  let context: KeyPath = [];

  /** The path that a header means: through arrays of tables it goes to their last element. */
  const throughArrays = (path: readonly string[]): KeyPath => {
    let real: KeyPath = [];
    for (const key of path) {
      real = [...real, key];
      const length = tables.get(placeKey(real));
      if (length !== undefined) real = [...real, length - 1];
    }
    return real;
  };
  /** The first place wins: a table opened by a dotted key stands where it is first named. */
  const note = (path: KeyPath, key: number, value: number): void => {
    if (!places.has(placeKey(path))) places.set(placeKey(path), { key, value });
  };
  const noteAssign = (base: KeyPath, node: AssignNode): void => {
    for (let depth = 1; depth < node.key.length; depth++) {
      note([...base, ...node.key.slice(0, depth)], node.offset, node.offset);
    }
    const path = [...base, ...node.key];
    note(path, node.offset, node.value.offset);
    noteInside(path, node.value);
  };
  const noteInside = (path: KeyPath, value: ValueNode): void => {
    if (value.type === 'InlineTable') for (const inner of value.value) noteAssign(path, inner);
    if (value.type === 'Array') {
      for (const [index, item] of value.value.entries()) {
        note([...path, index], item.offset, item.offset);
        noteInside([...path, index], item);
      }
    }
  };

  for (const node of tree) {
    if ('key' in node) {
      noteAssign(context, node);
      continue;
    }
    const parents = throughArrays(node.value.slice(0, -1));
    const path = [...parents, node.value.at(-1)!];
    for (let depth = 1; depth < path.length; depth++) note(path.slice(0, depth), node.offset, node.offset);
    if (node.type === 'ArrayPath') {
      const index = tables.get(placeKey(path)) ?? 0;
      tables.set(placeKey(path), index + 1);
      note(path, node.offset, node.offset);
      context = [...path, index];
    } else {
      context = path;
    }
    note(context, node.offset, node.offset);
  }
  return places;
}

function lookUp(places: Places, path: KeyPath, at: 'key' | 'value'): number {
  for (let length = path.length; length > 0; length--) {
    const found = places.get(placeKey(path.slice(0, length)));
    if (found !== undefined) return found[at];
  }
  return 0;
}

function toPlace(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1 };
}
