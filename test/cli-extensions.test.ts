// Extensions and trust from the command line: what is loaded, what is not, and how it is said.
import { realpathSync } from 'node:fs';
import { buildSharedTree, Place } from './cli-support.js';

let place: Place;
let removeTree: () => void;
beforeAll(async () => {
  removeTree = await buildSharedTree();
});
afterAll(() => removeTree());
beforeEach(() => {
  place = new Place();
});
afterEach(() => place.dispose());

/** A native tool that answers with `text`. */
const nativeTool = (name: string, text: string) => `
export const tool = { name: ${JSON.stringify(name)}, description: 'Says something', readOnly: true, inputSchema: { type: 'object' } };
export const run = async () => ${JSON.stringify(text)};
`;
const callOf = (name: string) => place.script([{ tool_calls: [{ name, input: {} }] }, { text: 'done' }]);
const ask = (model: string, ...flags: string[]) =>
  place.run(['-p', 'hi', '--model', model, '--output', 'jsonl', ...flags]);
const resultOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter((line) => line.includes('"tool_result"') && line.startsWith('{"type":"tool_result"'))
    .map((line) => (JSON.parse(line) as { content: string }).content)
    .join();

test('a native tool of the user is called, and a broken one beside it is one line', async () => {
  place.write('~/.config/panto/tools/hello.mjs', nativeTool('hello', 'hello from a file'));
  place.write('~/.config/panto/tools/broken.mjs', 'export const tool = {;\n');
  const { status, stdout, stderr } = await ask(callOf('hello'));
  expect(status).toBe(0);
  expect(resultOf(stdout)).toBe('hello from a file');
  const warnings = stderr.split('\n').filter((line) => line.startsWith('panto: warning: '));
  expect(warnings).toEqual([expect.stringContaining('broken.mjs')]);
});

test('a tool whose name is taken is refused with both owners named; the first stays', async () => {
  place.write('~/.config/panto/tools/read.mjs', nativeTool('read', 'not the real one'));
  place.write('a.txt', 'the real one');
  const model = place.script([{ tool_calls: [{ name: 'read', input: { path: 'a.txt' } }] }, { text: 'done' }]);
  const { stdout, stderr } = await ask(model);
  expect(resultOf(stdout)).toContain('the real one');
  expect(stderr).toMatch(
    /panto: warning: tool "read" of native \(.*read\.mjs\): the name is taken by native \(.*tools\/read\.js\)/,
  );
});

test('a native tool that is switched off in the config is not offered', async () => {
  place.write('~/.config/panto/config.toml', '[agent]\ndisabled_tools = ["ls"]\n');
  expect(resultOf((await ask(callOf('ls'))).stdout)).toMatch(/there is no tool of this name/);
});

describe('the project layer', () => {
  beforeEach(() => {
    place.write('.panto/tools/hello.mjs', nativeTool('hello', 'hello from the project'));
    place.write('.panto/config.toml', '[agent]\nmax_turns = 50\n');
  });
  const notEvaluated =
    'panto: warning: not evaluated: .panto/config.toml, .panto/tools: 1 file (not trusted; --trust trusts this project)\n';

  test('is not evaluated in -p, and one line says what and how', async () => {
    place.write('.panto/config.toml', 'this is = not toml [\n');
    const { status, stdout, stderr } = await ask(callOf('hello'));
    expect(status).toBe(0);
    expect(stderr.startsWith(notEvaluated)).toBe(true);
    expect(resultOf(stdout)).toMatch(/there is no tool of this name/);
  });

  test('is used with --trust, and that is remembered until it changes', async () => {
    const trusted = await ask(callOf('hello'), '--trust');
    expect(resultOf(trusted.stdout)).toBe('hello from the project');
    const again = await ask(callOf('hello'));
    expect(resultOf(again.stdout)).toBe('hello from the project');
    expect(again.stderr).not.toContain('not evaluated');
    place.write('.panto/tools/more.mjs', nativeTool('more', 'more'));
    const changed = await ask(callOf('hello'));
    expect(changed.stderr).toContain('(changed since it was trusted; --trust trusts this project)');
    expect(resultOf(changed.stdout)).toMatch(/there is no tool/);
  });

  test('once trusted, a mistake in its config stops the start with file and line', async () => {
    place.write('.panto/config.toml', '[agent]\nmax_turn = 5\n');
    const { status, stderr } = await ask(callOf('hello'), '--trust');
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^panto: \.panto\/config\.toml:2:1: .*max_turns.*\n$/)]);
  });

  test('panto trust trusts it, lists it, and takes it back', async () => {
    const root = realpathSync(place.project);
    const state = async (...args: string[]) => (await place.run(['trust', ...args])).stdout;
    expect(await state('--revoke')).toBe(`${root} was not trusted\n`);
    expect(await state()).toBe(`${root} is trusted as it is now: .panto/config.toml, .panto/tools: 1 file\n`);
    expect(await state('--list')).toMatch(new RegExp(`^${root} {2}since \\d{4}-\\d\\d-\\d\\d\n$`));
    expect((await ask(callOf('hello'))).stderr).not.toContain('not evaluated');
    expect(await state('--revoke')).toBe(`${root} is no longer trusted\n`);
    expect(await state('--list')).toBe('');
    expect((await ask(callOf('hello'))).stderr).toContain('not evaluated');
  });

  test('ext list shows every source, its layer and what became of it', async () => {
    place.write('~/.config/panto/tools/good.mjs', nativeTool('good', 'x'));
    place.write('~/.config/panto/tools/off.mjs', nativeTool('off', 'x'));
    place.write('~/.config/panto/tools/broken.mjs', 'export const tool = 7;\n');
    place.write('~/.config/panto/config.toml', '[extensions]\ndeny = ["off"]\n');
    const rows = JSON.parse((await place.run(['ext', 'list', '--json'])).stdout) as Record<string, string>[];
    expect(rows.filter(({ layer }) => layer !== 'base')).toMatchObject([
      { layer: 'user', status: 'failed', display: '~/.config/panto/tools/broken.mjs' },
      { name: 'good', layer: 'user', status: 'loaded' },
      { name: 'off', layer: 'user', status: 'denied', reason: expect.stringContaining('deny = "off"') },
      { layer: 'project', status: 'not evaluated', display: '.panto/tools/hello.mjs' },
    ]);
    const { status, stdout } = await place.run(['ext', 'list']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^NAME +LAYER +STATUS +WHERE\n/);
    expect(stdout).toMatch(/^good +user +loaded +~\/\.config\/panto\/tools\/good\.mjs$/m);
    expect(stdout).toMatch(
      /^- +project +not evaluated +\.panto\/tools\/hello\.mjs {2}\(the project is not trusted\)$/m,
    );
  });
});
