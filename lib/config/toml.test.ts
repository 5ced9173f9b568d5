import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyPath } from './check.js';
import { readToml, type TomlFile } from './toml.js';

let dir: string;
let file: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'panto-toml-'));
  file = join(dir, 'config.toml');
});
afterEach(() => rm(dir, { recursive: true }));

async function read(text: string | Buffer): Promise<TomlFile> {
  await writeFile(file, text);
  const result = await readToml(file);
  if (result.kind !== 'file') throw new Error(JSON.stringify(result));
  return result;
}
async function errorOf(text: string | Buffer): Promise<string> {
  await writeFile(file, text);
  const result = await readToml(file);
  if (result.kind !== 'error') throw new Error(`no error for ${text}`);
  return `${result.error.line}:${result.error.column} ${result.error.message}`;
}

const DOCUMENT = `# a comment = [1]
top = 1
[agent]
  model = "x" # = "y"
"quoted key" = '''
a
b'''
deep.er.key = 1

[ extensions . "a.b" ]
list = [
  "one", # two
  [ { x = 1 }, 'three' ],
]
inline = { p = 1, "q r" = { s = [2] }, t.u = 3 }
[[tables]]
n = 1
[tables.sub]
m = 1
[[tables]]
n = 2
[tables.sub]
m = 2
[a.b.c]
`;

test.each<[KeyPath, 'key' | 'value', string]>([
  [['top'], 'key', '2:1'],
  [['top'], 'value', '2:7'],
  [['agent'], 'key', '3:1'],
  [['agent', 'model'], 'key', '4:3'],
  [['agent', 'model'], 'value', '4:11'],
  [['agent', 'quoted key'], 'value', '5:16'],
  [['agent', 'deep', 'er'], 'key', '8:1'],
  [['agent', 'deep', 'er', 'key'], 'value', '8:15'],
  [['extensions'], 'key', '10:1'],
  [['extensions', 'a.b', 'list', 0], 'value', '12:3'],
  [['extensions', 'a.b', 'list', 1, 0, 'x'], 'value', '13:11'],
  [['extensions', 'a.b', 'list', 1, 1], 'value', '13:16'],
  [['extensions', 'a.b', 'inline', 'p'], 'key', '15:12'],
  [['extensions', 'a.b', 'inline', 'q r', 's', 0], 'value', '15:34'],
  [['extensions', 'a.b', 'inline', 't', 'u'], 'value', '15:46'],
  [['tables', 0, 'n'], 'value', '17:5'],
  [['tables', 0, 'sub', 'm'], 'value', '19:5'],
  [['tables', 1, 'n'], 'value', '21:5'],
  [['tables', 1, 'sub', 'm'], 'value', '23:5'],
  [['a', 'b'], 'key', '24:1'],
  [['a', 'b', 'c'], 'key', '24:1'],
  [['agent', 'not there'], 'key', '3:1'],
])('the %p has its %s at %s', async (path, at, expected) => {
  const toml = await read(DOCUMENT);
  const { line, column } = toml.place(path, at);
  expect(`${line}:${column}`).toBe(expected);
});

test('places are right with CRLF line ends and a byte order mark', async () => {
  const toml = await read('\uFEFF[a]\r\nb = 1\r\nc = 2\r\n');
  expect(toml.place(['a', 'c'], 'value')).toEqual({ line: 3, column: 5 });
});

test.each([
  ['[agent]\nmodel = "x\nb = 1\n', '2:11 not valid TOML: the line ends too early (a quote or a value is missing)'],
  ['[agent]\nmodel = ', '2:9 not valid TOML: the file ends too early'],
  ['a = 1 b = 2', '1:7 not valid TOML: unexpected "b"'],
  ['a = 1\na = 2\n', "2:1 Cannot redefine existing key 'a'"],
  ['[a]\nb = 1\n[a]\n', "3:1 Cannot redefine existing key 'a'"],
  ['a = 1\nb = 2023-02-30\n', '2:5 Invalid date: day 30 out of range for month 2'],
])('%j is refused with line and column', async (text, expected) => {
  expect((await errorOf(text)).startsWith(expected)).toBe(true);
});

test('a file that is not UTF-8 is refused, not repaired', async () => {
  expect(await errorOf(Buffer.from([0x61, 0x3d, 0x22, 0xff, 0x22]))).toBe('0:0 is not valid UTF-8');
});

test('a file that is not there is absent, and so is one in a folder that is not there', async () => {
  expect(await readToml(file)).toEqual({ kind: 'absent' });
  expect(await readToml(join(dir, 'no/config.toml'))).toEqual({ kind: 'absent' });
});

test('what is there but cannot be read is an error, never absent', async () => {
  const problem = async (path: string): Promise<string> => {
    const result = await readToml(path);
    return result.kind === 'error' ? result.error.message : result.kind;
  };
  await symlink(join(dir, 'gone'), join(dir, 'dangling'));
  expect(await problem(join(dir, 'dangling'))).toBe('is a symbolic link to nothing');
  await mkdir(join(dir, 'folder'));
  expect(await problem(join(dir, 'folder'))).toBe('is not a regular file');
  execFileSync('mkfifo', [join(dir, 'pipe')]);
  expect(await problem(join(dir, 'pipe'))).toBe('is not a regular file');
  await writeFile(file, 'a = 1');
  expect(await problem(join(file, 'config.toml'))).toBe('cannot be read: ENOTDIR');
  if (process.getuid?.() !== 0) {
    await chmod(file, 0);
    expect(await problem(file)).toBe('cannot be read: EACCES');
  }
});
