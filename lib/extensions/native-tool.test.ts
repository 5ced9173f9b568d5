import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Tool } from '../core/types.js';
import { readNativeTool } from './native-tool.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'panto-native-'));
});
afterEach(() => rm(dir, { recursive: true }));

async function read(source: string, timeLimitMs = 50_000): Promise<Tool> {
  const path = join(dir, 'x.mjs');
  await writeFile(path, source);
  return readNativeTool({ path, display: 'tools/x.mjs' }, timeLimitMs);
}
const TOOL = '{ name: "up", description: "Upper case", inputSchema: { type: "object" } }';
const RUN = 'export async function run(input) { return input.text.toUpperCase(); }\n';

test('the declaration is read, with the file as its module', async () => {
  const tool = await read(
    `export const tool = { ...${TOOL}, timeoutMs: 5, readOnly: true, guidelines: "g", locks: ["/path"] };\n${RUN}`,
  );
  expect(tool).toEqual({
    name: 'up',
    description: 'Upper case',
    inputSchema: { type: 'object' },
    timeoutMs: 5,
    readOnly: true,
    guidelines: 'g',
    locks: ['/path'],
    module: pathToFileURL(join(dir, 'x.mjs')),
  });
  const { run } = (await import(tool.module.href)) as { run: (input: { text: string }) => Promise<string> };
  expect(await run({ text: 'abc' })).toBe('ABC');
});

test('helpers beside the file and top-level await work', async () => {
  await writeFile(join(dir, 'helper.mjs'), `export const name = "helped";\n`);
  const tool = await read(
    `import { name } from "./helper.mjs";\nawait new Promise((r) => setTimeout(r, 5));\nexport const tool = { ...${TOOL}, name };\n${RUN}`,
  );
  expect(tool.name).toBe('helped');
});

test.each([
  ['no tool', RUN, 'tools/x.mjs: must export an object `tool` with name, description and inputSchema'],
  ['no run', `export const tool = ${TOOL};`, 'tools/x.mjs: must export a function `run`'],
  ['a tool that is a text', `export const tool = "up";\n${RUN}`, 'tools/x.mjs: the exported `tool` must be an object'],
  [
    'a bad name',
    `export const tool = { ...${TOOL}, name: "a.b" };\n${RUN}`,
    'tools/x.mjs: the exported `tool` has no valid name: 1 to 64 of A-Z, a-z, 0-9, _ and -, not "a.b"',
  ],
  [
    'a name of 65',
    `export const tool = { ...${TOOL}, name: "x".repeat(65) };\n${RUN}`,
    'tools/x.mjs: the exported `tool` has no valid name',
  ],
  [
    'no schema',
    `export const tool = { name: "a", description: "b", schema: {} };\n${RUN}`,
    'tools/x.mjs: the exported `tool` needs an object `inputSchema`',
  ],
  [
    'a wrong option',
    `export const tool = { ...${TOOL}, readOnly: "yes" };\n${RUN}`,
    'tools/x.mjs: the exported `tool` has a `readOnly` that is neither true nor false',
  ],
  [
    'a tool that is no JSON',
    `const tool = ${TOOL}; tool.self = tool; export { tool };\n${RUN}`,
    'tools/x.mjs: TypeError: Converting circular structure to JSON',
  ],
  ['an error', '\n\nthrow new Error("boom\\nsecond line");\n', 'tools/x.mjs:3: boom'],
  [
    'an error in a function',
    'function f() {\n  null.x;\n}\nf();\n',
    'tools/x.mjs:2: TypeError: Cannot read properties of null',
  ],
  ['a thrown text', 'throw "just text";\n', 'tools/x.mjs: just text'],
  ['a thrown null', 'throw null;\n', 'tools/x.mjs: null'],
  ['a syntax error', 'export const a = 1;\nlet b = = 2;\n', "tools/x.mjs:2: SyntaxError: Unexpected token '='"],
  ['an import that is not there', 'import "./nope.mjs";\n', 'tools/x.mjs: Cannot find module'],
  [
    'an export that is not there',
    '\nimport { nope } from "node:fs";\n',
    "tools/x.mjs:2: SyntaxError: The requested module 'node:fs' does not provide",
  ],
  ['process.exit', 'process.exit(7);\n', 'tools/x.mjs: importing it ended its thread (exit code 7)'],
  ['an await that nothing ends', 'await new Promise(() => {});\n', 'tools/x.mjs: importing it ended its thread'],
  [
    'an error thrown later',
    'setTimeout(() => { throw new Error("late"); });\nawait new Promise((r) => setTimeout(r, 60_000));\n',
    'tools/x.mjs: Error: late',
  ],
])('%s is one line that names the file', async (_title, source, expected) => {
  const error = await read(source).then(
    (tool) => `no error, but ${JSON.stringify(tool)}`,
    (error: Error) => error.message,
  );
  expect(error.startsWith(expected)).toBe(true);
  expect(error).not.toContain('\n');
});

test.each([
  ['loops for ever', 'for (;;);\n'],
  ['waits for ever', 'setInterval(() => {}, 1000);\nawait new Promise(() => {});\n'],
])('a file that %s is given up at the time limit', async (_title, source) => {
  await expect(read(source, 300)).rejects.toThrow('tools/x.mjs: importing it did not end within 300 ms');
});

test('a file that eats memory bit by bit costs its thread, not the process', async () => {
  await expect(read('const all = [];\nfor (;;) all.push(new Array(1e5).fill({}));\n')).rejects.toThrow(
    'tools/x.mjs: importing it ran out of memory',
  );
});

test('what the file prints reaches neither stdout nor stderr, and its timers die with the reading', async () => {
  const path = join(dir, 'x.mjs');
  const mark = join(dir, 'mark');
  await writeFile(
    path,
    `import { writeFileSync } from "node:fs";
console.log("out"); console.error("err"); process.stdout.write("raw");
setInterval(() => writeFileSync(${JSON.stringify(mark)}, ""), 300);
export const tool = ${TOOL};
${RUN}`,
  );
  const module = new URL('./native-tool.js', import.meta.url);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { readNativeTool } from ${JSON.stringify(module.href)};
const { name } = await readNativeTool({ path: ${JSON.stringify(path)}, display: 'x' });
await new Promise((resolve) => setTimeout(resolve, 600));
console.log(name);`,
  ]);
  expect([stdout, stderr]).toEqual(['up\n', '']);
  await expect(readFile(mark)).rejects.toThrow('ENOENT');
});
