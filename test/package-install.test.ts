// The npm package: what is in it, and that it works where a user installs it, first without a compiler.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import { PackageHarness, readJson, run } from './package-harness.js';

let harness: PackageHarness;
beforeAll(() => {
  harness = new PackageHarness();
}, 10 * 60_000);
afterAll(() => harness?.dispose());

interface Call {
  readonly name: string;
  readonly input: Record<string, unknown>;
}
interface Result extends Call {
  readonly type: string;
  readonly is_error: boolean;
  readonly content: string;
}

/** One turn with these calls, then an answer; the results in call order. */
function play(calls: readonly Call[], env: Record<string, string> = {}) {
  const script = join(harness.root, 'script.json');
  writeFileSync(script, JSON.stringify({ turns: [{ tool_calls: calls }, { text: 'done' }] }));
  const args = ['-p', 'go', '--model', `scripted:${script}`, '--permission', 'auto', '--output', 'jsonl'];
  const { status, stdout, stderr } = harness.panto(args, env);
  const events = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const results = calls.map((_call, index) =>
    events.find(({ type, id }) => type === 'tool_result' && id === `call_1_${index + 1}`),
  );
  return { status, stderr, results: results as unknown as Result[], end: events.at(-1) };
}

test('holds what the command needs and nothing of the workshop', () => {
  const paths = harness.files.map(({ path }) => path);
  const top = [...new Set(paths.map((path) => path.split('/')[0]))].sort();
  expect(top).toEqual(
    'LICENSE README.md THIRD-PARTY-NOTICES.txt bin binding.gyp dist examples lua native package.json prebuilds vendor'.split(
      ' ',
    ),
  );
  expect(paths).toEqual(
    expect.arrayContaining(['dist/tree/manifest.json', 'dist/types/index.d.ts', 'vendor/lua/src/lvm.c']),
  );
  const unwanted = /\.test\.|\.map$|\.origin\.json$|\.ts$(?<!\.d\.ts)|\.cache|node_modules/;
  expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
  expect(paths.filter((path) => path.endsWith('.node'))).toEqual([
    expect.stringMatching(RegExp(`^prebuilds/${process.platform}-${process.arch}/panto(\\.(glibc|musl))?\\.node$`)),
  ]);
});

test('names everything of others that is inside', () => {
  const notices = readFileSync(join(harness.packageDir, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
  for (const name of ['lua 5.4.7 (MIT)', 'luv 1.51.0-1 (Apache-2.0)', 'yyjson 0.10.0 (MIT)', 'uv 1.46.0 (MIT)']) {
    expect(notices).toContain(`\n${name}\n`);
  }
  for (const name of ['citty', 'toml', 'ajv', '@ai-sdk/anthropic', '@ai-sdk/provider-utils', 'node-addon-api']) {
    expect(notices).toMatch(RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
  }
});

test('installs without running anything and without a warning', () => {
  const { scripts, gypfile, bin, exports } = readJson(join(harness.packageDir, 'package.json')) as {
    scripts: Record<string, string>;
    gypfile: boolean;
    bin: { panto: string };
    exports: { '.': { types: string; default: string } };
  };
  expect(gypfile).toBe(false);
  expect(Object.keys(scripts).filter((name) => /install|^prepare$/.test(name))).toEqual([]);
  for (const target of [bin.panto, exports['.'].types, exports['.'].default]) {
    expect([target, existsSync(join(harness.packageDir, target))]).toEqual([target, true]);
  }
  expect(harness.installed.stderr).not.toMatch(/warn|script/i);
});

describe('without a compiler on the PATH and with an empty home', () => {
  test('panto --version', () => {
    const { version } = readJson(join(packageRoot, 'package.json'));
    expect(harness.panto(['--version'])).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('panto lua runs Lua', () => {
    const { status, stdout, stderr } = harness.panto(['lua', '-e', 'print(_VERSION)']);
    expect([status, stdout]).toEqual([0, 'Lua 5.4\n']);
    expect(stderr).toMatch(/^panto: no C compiler \(cc, gcc, clang\) on the PATH.*\n$/);
  });

  test('a turn with native tools works; one line says that Lua extensions need a compiler', () => {
    writeFileSync(join(harness.project, 'a.txt'), 'needle\n');
    const { status, results, stderr, end } = play([
      { name: 'ls', input: {} },
      { name: 'read', input: { path: 'a.txt' } },
      { name: 'grep', input: { pattern: 'needle' } },
      { name: 'bash', input: { command: 'cat a.txt' } },
    ]);
    expect(results.map(({ is_error, content }) => [is_error, content])).toEqual([
      [false, expect.stringContaining('a.txt')],
      [false, expect.stringContaining('needle')],
      [false, expect.stringContaining('a.txt:1')],
      [false, expect.stringContaining('needle')],
    ]);
    expect([status, end]).toEqual([0, { type: 'agent_end', reason: 'done' }]);
    const warnings = stderr.split('\n').filter((line) => line.startsWith('panto: '));
    expect(warnings).toEqual([expect.stringMatching(/no Lua extensions: no C compiler .* on the PATH/)]);
  });

  test('a platform without a prebuilt addon is one line that says how to build it', () => {
    const { status, stderr } = harness.panto(['lua', '-v'], { LIBC: 'other' });
    expect(status).toBe(1);
    const line = stderr.split('\n').find((text) => text.includes('addon'));
    expect(line).toBe(
      `panto: panto has no prebuilt addon for linux-${process.arch}-other; build it with a C++ compiler, make and Python: ` +
        `cd ${harness.packageDir} && npx node-gyp rebuild`,
    );
  });

  test('a Node that keeps its libuv to itself is one line, not the end of the process', () => {
    // The same addon, asking for a function that no libuv has.
    const name = harness.files.find(({ path }) => path.endsWith('.node'))!.path;
    const bytes = readFileSync(join(harness.packageDir, name)).toString('latin1');
    expect(bytes).toContain('\0uv_async_send\0');
    const changed = bytes.replaceAll('\0uv_async_send\0', '\0uv_async_none\0');
    const folder = join(harness.root, 'other-addon');
    mkdirSync(join(folder, 'build/Release'), { recursive: true });
    writeFileSync(join(folder, 'build/Release/panto.node'), Buffer.from(changed, 'latin1'));
    const { status, stderr } = harness.panto(['lua', '-v'], { PANTO_PREBUILD: folder });
    expect(status).toBe(1);
    expect(stderr).toContain(
      `and ${process.execPath} (${process.versions.node}) does not offer uv_async_none; use an official`,
    );
  });
});

describe('with a compiler on the PATH', () => {
  test('a turn with Lua extensions, a native one and native tools works, also in the next start', () => {
    const extensions = join(harness.home, '.config/panto/extensions');
    mkdirSync(extensions, { recursive: true });
    const example = readFileSync(join(harness.packageDir, 'examples/extensions/word_count.lua'));
    writeFileSync(join(extensions, 'word_count.lua'), example);
    const tick = `local uv = require "luv"
return { name = "tick", description = "d", schema = { type = "object" }, handler = function()
  panto.async.sleep(0.01)
  return uv.version_string()
end }`;
    writeFileSync(join(extensions, 'tick.lua'), tick);
    writeFileSync(join(harness.project, 'b.txt'), 'one two\nthree\n');
    const calls = [
      { name: 'word_count', input: { path: 'b.txt' } },
      { name: 'tick', input: {} },
      { name: 'read', input: { path: 'b.txt' } },
    ];
    const env = { PATH: harness.compilerPath };
    const first = play(calls, env);
    expect(first.stderr).toContain('panto: compiling luv');
    const second = play(calls, env);
    expect(second.stderr).not.toContain('compiling');
    for (const { status, results } of [first, second]) {
      expect(status).toBe(0);
      expect(results.map(({ is_error, content }) => [is_error, content])).toEqual([
        [false, '2 lines, 3 words, 14 bytes'],
        [false, process.versions.uv],
        [false, expect.stringContaining('three')],
      ]);
    }
  });
});

test('the library can be imported, and its types hold', () => {
  const consumer = join(harness.root, 'consumer');
  mkdirSync(join(consumer, 'node_modules'), { recursive: true });
  symlinkSync(harness.packageDir, join(consumer, 'node_modules/panto'));
  const program = `
    import { Agent, CallAbort, ToolRegistry, type Provider } from 'panto';
    const provider: Provider = {
      id: 'says-hi',
      async *stream() {
        yield { type: 'text', delta: 'hi' };
        const message = { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'hi' }] };
        yield { type: 'done', message, usage: { input: 1, output: 1 }, stop: 'end' };
      },
    };
    const agent: Agent = new Agent({ provider, registry: new ToolRegistry() });
    agent.on((event) => {
      if (event.type === 'agent_end') console.log(event.reason, typeof CallAbort);
    });
    await agent.run('hello');
    // @ts-expect-error a provider has to stream
    const wrong: Provider = { id: 'none' };
    void wrong;`;
  const typeRoots = [join(packageRoot, 'node_modules/@types')];
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, types: ['node'], typeRoots };
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(consumer, 'index.ts'), program);
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['index.ts'] }));
  const node = (...args: string[]) => run(process.execPath, args, consumer, process.env);
  const compiled = node(join(packageRoot, 'node_modules/typescript/bin/tsc'));
  expect([compiled.status, compiled.stdout]).toEqual([0, '']);
  expect(node('index.js')).toMatchObject({ status: 0, stdout: 'done function\n' });
});
