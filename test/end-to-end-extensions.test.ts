// Extensions that are broken, in each other's way, or leave things behind, through the real command.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
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
});
afterEach(() => home.dispose());

const good = extensionOf('good', { good: 'return "good"' });

test('broken extensions cost one line each, with file, line and cause; the good one beside them works', async () => {
  const broken: Record<string, [string, RegExp]> = {
    'b_activate.lua': [
      'return { name = "b", activate = function(ext)\nerror("cannot activate")\nend }\n',
      /b_activate\.lua:2: cannot activate/,
    ],
    'c_no_activate.lua': ['return { name = "c" }\n', /c_no_activate\.lua.*neither activate nor handler/],
    'd_nil.lua': ['local x = 1\n', /d_nil\.lua.*nothing/],
    'e_rock.lua': ['local rock = require "no.such.rock"\nreturn rock\n', /e_rock\.lua:1: .*no\.such\.rock/],
    'f_syntax.lua': ['return {\n  name = = 1\n}\n', /f_syntax\.lua:2: unexpected symbol near '='/],
    'g_raises.lua': ['local t = nil\nreturn t.x\n', /g_raises\.lua:2: attempt to index a nil value/],
    'h_schema.lua': [
      'return { name = "h", description = "h", schema = { type = "no such type" }, handler = function() end }\n',
      /"h" of extension h: .*schema/,
    ],
  };
  for (const [name, [text]] of Object.entries(broken)) home.extension(name, text);
  home.extension('good.lua', good);
  const { status, sent, warnings } = await home.turns([[{ name: 'good', input: {} }]]);
  expect([status, sent[0]?.[0]?.content]).toEqual([0, 'good']);
  const causes = Object.values(broken).map(([, cause]) => cause);
  expect(warnings).toHaveLength(causes.length);
  for (const cause of causes) expect(warnings).toContainEqual(expect.stringMatching(cause));
});

test.each([
  ['while it is loaded', 'while true do end\n'],
  ['while it is activated', 'return { name = "endless", activate = function() while true do end end }\n'],
])('an extension that loops %s is stopped and named; the others work', async (_, text) => {
  home.extension('endless.lua', text);
  home.extension('good.lua', good);
  const { status, sent, warnings } = await home.turns([[{ name: 'good', input: {} }]]);
  expect([status, sent[0]?.[0]?.content]).toEqual([0, 'good']);
  expect(warnings).toEqual([expect.stringMatching(/endless\.lua/)]);
});

test('files that are no Lua text cost one line each', async () => {
  const folder = join(home.root, 'home/.config/panto/extensions');
  mkdirSync(join(folder, 'folder.lua'), { recursive: true });
  execFileSync('mkfifo', [join(folder, 'fifo.lua')]);
  home.extension('binary.lua', '\x1bLua not a chunk');
  writeFileSync(join(folder, 'latin1.lua'), Buffer.from('return { name = "latin1", d\xe9 = 1 }\n', 'latin1'));
  home.extension('empty.lua', '');
  home.extension('unreadable.lua', good);
  chmodSync(join(folder, 'unreadable.lua'), 0);
  home.extension('bom.lua', `\ufeff${extensionOf('bom', { bom: 'return "bom"' })}`);
  home.extension('crlf.lua', extensionOf('crlf', { crlf: 'return "crlf"' }).replaceAll('\n', '\r\n'));
  home.extension(
    'script.lua',
    `#!/usr/bin/env lua\n${extensionOf('script', { script: 'return debug.getinfo(1, "l").currentline' })}`,
  );
  const { status, sent, warnings } = await home.turns([['bom', 'crlf', 'script'].map((name) => ({ name, input: {} }))]);
  expect(status).toBe(0);
  expect(sent[0]?.map(({ content }) => content)).toEqual(['bom', 'crlf', '6']);
  const isRoot = process.getuid?.() === 0;
  const files = ['binary', 'empty', 'latin1', 'fifo', 'folder', ...(isRoot ? [] : ['unreadable'])];
  for (const name of files) expect(warnings.filter((line) => line.includes(`${name}.lua`))).toHaveLength(1);
});

test('tool names that no provider takes are refused where they are registered, with the file; other tools load', async () => {
  const names = ['my tool!', 'a.b', 'x'.repeat(65), 'выборка', ''];
  for (const [i, name] of names.entries()) {
    const tool = `{ name = ${JSON.stringify(name)}, description = "d", schema = {}, handler = function() end }`;
    home.extension(
      `lua${i}.lua`,
      `return { name = "lua${i}", activate = function(ext) ext.register_tool ${tool} end }\n`,
    );
    home.write(
      `~/.config/panto/tools/js${i}.mjs`,
      `export const tool = { name: ${JSON.stringify(name)}, description: 'd', inputSchema: {} };\nexport const run = () => '';\n`,
    );
  }
  home.extension('good.lua', good);
  const { sent, warnings } = await home.turns([[{ name: 'good', input: {} }]]);
  expect(sent[0]?.[0]?.content).toBe('good');
  for (let i = 0; i < names.length; i++) {
    expect(warnings.filter((line) => line.includes(`lua${i}.lua:`))).toHaveLength(1);
    expect(warnings.filter((line) => line.includes(`js${i}.mjs`))).toHaveLength(1);
  }
});

test('of two tools of one name the first stays, and the warning names both; a native tool keeps its name', async () => {
  home.extension('a.lua', extensionOf('first', { search: 'return "first"' }));
  home.extension('b.lua', extensionOf('second', { search: 'return "second"' }));
  home.extension('c.lua', extensionOf('third', { read: 'return "not the real one"' }));
  home.write('a.txt', 'the real one');
  const { sent, warnings } = await home.turns([
    [
      { name: 'search', input: {} },
      { name: 'read', input: { path: 'a.txt' } },
    ],
  ]);
  expect(sent[0]?.[0]?.content).toBe('first');
  expect(sent[0]?.[1]?.content).toContain('the real one');
  expect(warnings.filter((line) => /search.*first/.test(line) && line.includes('b.lua'))).toHaveLength(1);
  expect(warnings.filter((line) => /"read".*native/.test(line) && line.includes('extension third'))).toHaveLength(1);
  expect(warnings).toHaveLength(2);
});

test('what an extension leaves behind does not keep the process: timers, servers, requests, children', async () => {
  home.extension(
    'litter.lua',
    extensionOf('litter', { litter: 'return "littered"' }, '').replace(
      'activate = function(ext)',
      `activate = function(ext)
        timer = uv.new_timer() timer:start(1, 1, function() end)
        server = uv.new_tcp() server:bind("127.0.0.1", 0) server:listen(8, function() end)
        uv.spawn("sleep", { args = { "300" } }, function() end)
        for _ = 1, 50 do local pipe = uv.new_pipe() uv.fs_opendir(".", function() pipe:close() end) end`,
    ),
  );
  const { status, sent } = await home.turns([[{ name: 'litter', input: {} }]]);
  expect([status, sent[0]?.[0]?.content]).toEqual([0, 'littered']);
  // Without a call, too: the requests above are under way when the process ends.
  expect((await home.turns([])).status).toBe(0);
});

test('a native tool that loads the addon in its worker can, but no second runtime; the main one is unharmed', async () => {
  const options = `{ luaDir: '', modulePath: '', moduleCpath: '', luvFile: '', logFile: '', session: '', cwd: '', clockOriginMs: 0, timeOriginMs: 0, holdLimitMs: 5000, graceMs: 500 }`;
  home.write(
    '~/.config/panto/tools/loads.mjs',
    `import { createRequire } from 'node:module';
     export const tool = { name: 'loads', description: 'loads the addon', inputSchema: { type: 'object' } };
     export const run = async () => {
       const addon = createRequire(import.meta.url)(${JSON.stringify(join(packageRoot, 'build/Release/panto.node'))});
       new addon.Runtime(${options}, () => {});
       return 'a second runtime';
     };\n`,
  );
  home.extension('good.lua', good);
  const names = ['loads', 'loads', 'loads', 'loads', 'good'];
  const { status, sent } = await home.turns([names, names].map((turn) => turn.map((name) => ({ name, input: {} }))));
  expect(status).toBe(0);
  for (const results of sent) {
    for (const result of results.slice(0, 4)) {
      expect(result).toMatchObject({
        is_error: true,
        content: expect.stringContaining('already runs in this process'),
      });
    }
    expect(results[4]?.content).toBe('good');
  }
});

test.each([
  ['empty', { XDG_DATA_HOME: '', XDG_CONFIG_HOME: '', XDG_STATE_HOME: '' }],
  ['relative', { XDG_DATA_HOME: 'data', XDG_CONFIG_HOME: 'config', XDG_STATE_HOME: 'state' }],
])('%s XDG variables mean their defaults, and the project folder stays empty', async (_, env) => {
  home.extension('good.lua', good);
  const model = home.script([{ tool_calls: [{ name: 'good', input: {} }] }, { text: 'done' }]);
  const { status, stdout } = await home.run(
    ['-p', 'go', '--model', model, '--permission', 'auto', '--output', 'jsonl'],
    { env },
  );
  expect(status).toBe(0);
  expect(stdout).toContain('"content":"good"');
  expect((await home.run(['--version'], { env })).status).toBe(0);
  expect(readdirSync(home.project)).toEqual([]);
});

test('without a home there is one line that says what to set', async () => {
  const env = { HOME: undefined, PANTO_HOME: undefined };
  const { status, stderr } = await home.run(['-p', 'go', '--model', home.script([{ text: 'x' }])], { env });
  // Where the machine knows a home for the user, that is used.
  if (status !== 0) expect(stderr).toMatch(/^panto: .*HOME.*\n$/);
});
