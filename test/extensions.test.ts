// A start as the command line puts it together: trust, config, discovery, policy and load on real files. The Lua runtime is played
// by a host that reads the names of a source's entries from its first line.
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { formatConfigError, loadConfig } from '../lib/config/config.js';
import { pantoPaths, projectRoot, userHome } from '../lib/config/paths.js';
import type { Json } from '../lib/core/types.js';
import { discoverExtensions } from '../lib/extensions/discover.js';
import { type ExtensionHost, loadExtensions } from '../lib/extensions/load.js';
import { compilePolicy } from '../lib/extensions/policy.js';
import { trustProject, trustState } from '../lib/extensions/trust.js';

let dir: string;
let env: Record<string, string>;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'panto-extensions-')));
  env = { HOME: join(dir, 'home') };
});
afterEach(() => rm(dir, { recursive: true }));

async function file(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(dir, name)), { recursive: true });
  await writeFile(join(dir, name), text);
}

class FirstLineHost implements ExtensionHost {
  readonly evaluated: string[] = [];
  readonly activated: [string, Json][] = [];
  readonly #names: string[] = [];
  async evaluate({ path, display }: { path: string; display: string }): Promise<{ id: number; name: string }[]> {
    this.evaluated.push(display);
    const line = (await readFile(path, 'utf8')).split('\n')[0]!;
    if (!line.startsWith('-- ')) throw new Error(`${display}:1: no entry`);
    return line
      .slice(3)
      .split(' ')
      .map((name) => ({ id: this.#names.push(name) - 1, name }));
  }
  async activate(entry: number, { settings }: { settings: Json }): Promise<void> {
    this.activated.push([this.#names[entry]!, settings]);
  }
  async drop(): Promise<void> {}
}

async function start(cwd: string, options: { trust?: boolean } = {}) {
  const paths = pantoPaths(env);
  const home = userHome(env);
  const root = projectRoot(join(dir, cwd));
  const store = { stateDir: paths.stateDir, home };
  let trust = await trustState(root, store);
  if (options.trust) {
    await trustProject(trust, store);
    trust = await trustState(root, store);
  }
  const trusted = trust.state === 'trusted';
  const result = await loadConfig({ paths, projectRoot: root, trusted, home });
  if ('errors' in result)
    throw new Error(result.errors.map((error) => formatConfigError(error, root, home)).join('\n'));
  const { extensions } = result.config;
  const places = { baseDir: join(dir, 'package/lua'), configDir: paths.configDir, projectRoot: root, home };
  const found = await discoverExtensions({ ...places, trusted, paths: extensions.paths });
  const host = new FirstLineHost();
  const policy = await compilePolicy(extensions.rules);
  const loaded = await loadExtensions({ ...found, host, policy, settings: extensions.settings });
  return {
    trust: trust.state,
    host,
    tools: loaded.tools.map(({ name }) => name),
    rows: loaded.states.map(({ name, display, status }) => `${status}: ${name ?? '?'} (${display})`),
    lines: [...found.problems, ...loaded.problems].map(({ message }) => message),
  };
}

const NATIVE =
  'export const tool = { name: "up", description: "d", inputSchema: {} };\nexport const run = async () => "";\n';

test('a project is inert until it is trusted, loads then, and is inert again when its content changes', async () => {
  await file('home/.config/panto/tools/echo.lua', '-- echo');
  await file(
    'home/.config/panto/config.toml',
    '[extensions]\ndeny = ["agent.*"]\nsettings.echo = { from = "user", n = 1 }\n',
  );
  await file('project/.panto/tools/echo.lua', '-- echo');
  await file('project/.panto/tools/up.mjs', NATIVE);
  await file(
    'project/.panto/config.toml',
    '[extensions]\nallow = ["agent.rules"]\npaths = ["dev"]\nsettings.echo = { from = "project" }\n',
  );
  await file('project/dev/suite/init.lua', '-- agent.rules agent.skills');
  await file('project/src/deep/main.c', '');

  const before = await start('project/src/deep');
  expect(before).toMatchObject({ trust: 'untrusted', tools: [], lines: [] });
  expect(before.host.evaluated).toEqual(['~/.config/panto/tools/echo.lua']);
  expect(before.host.activated).toEqual([['echo', { from: 'user', n: 1 }]]);
  expect(before.rows).toEqual([
    'loaded: echo (~/.config/panto/tools/echo.lua)',
    'not evaluated: ? (.panto/tools/echo.lua)',
    'not evaluated: ? (.panto/tools/up.mjs)',
  ]);

  const trusted = await start('project/src/deep', { trust: true });
  expect(trusted).toMatchObject({ trust: 'trusted', tools: ['up'], lines: [] });
  expect(trusted.rows).toEqual([
    'shadowed: echo (~/.config/panto/tools/echo.lua)',
    'loaded: agent.rules (dev/suite/init.lua)',
    'denied: agent.skills (dev/suite/init.lua)',
    'loaded: echo (.panto/tools/echo.lua)',
    'loaded: up (.panto/tools/up.mjs)',
  ]);
  expect(trusted.host.activated).toEqual([
    ['agent.rules', {}],
    ['echo', { from: 'project', n: 1 }],
  ]);

  await file('project/dev/suite/helper.lua', 'os.execute "evil"');
  const changed = await start('project');
  expect(changed.trust).toBe('changed');
  expect(changed.host.evaluated).toEqual(['~/.config/panto/tools/echo.lua']);
});

test('a trusted project with a broken config stops the start; an untrusted one does not', async () => {
  await file('project/.panto/config.toml', '[extensions]\ndeny = "x"\n');
  expect((await start('project')).trust).toBe('untrusted');
  await expect(start('project', { trust: true })).rejects.toThrow(
    /^\.panto\/config\.toml:2:8: extensions\.deny must be a list of strings, not a string; write \["x"\]$/,
  );
});

test('broken sources of every kind cost one line each, and the rest is loaded', async () => {
  const tools = 'home/.config/panto/tools';
  await file(`${tools}/a.lua`, 'return nil');
  await file(`${tools}/b.lua`, '-- my.tool');
  await file(`${tools}/c.lua`, '-- my.tool');
  await file(`${tools}/d.mjs`, 'export const tool = 1;\n');
  await file(`${tools}/e.mjs`, 'syntax error\n');
  await file(`${tools}/f.mjs`, NATIVE);
  await file('home/.config/panto/config.toml', '\nextensions.paths = ["gone"]\n');
  const { rows, tools: native, lines } = await start('home');
  expect(lines).toEqual([
    '.config/panto/config.toml:2: extensions.paths: "gone" does not exist',
    '.config/panto/tools/a.lua:1: no entry',
    '.config/panto/tools/d.mjs: must export a function `run`',
    ".config/panto/tools/e.mjs:1: SyntaxError: Unexpected identifier 'error'",
    '.config/panto/tools/c.lua: the name "my.tool" is already taken by .config/panto/tools/b.lua; the first stays',
  ]);
  expect(rows.filter((row) => row.startsWith('loaded'))).toHaveLength(2);
  expect(native).toEqual(['up']);
});

test('empty and relative XDG variables make no stray folders in the cwd', async () => {
  env = { HOME: join(dir, 'home'), XDG_CONFIG_HOME: '', XDG_STATE_HOME: 'state', XDG_DATA_HOME: './data' };
  await file('home/.config/panto/tools/x.lua', '-- x');
  await file('project/.panto/tools/y.lua', '-- y');
  const { rows, trust } = await start('project', { trust: true });
  expect(trust).toBe('trusted');
  expect(rows).toHaveLength(2);
  expect(await realpath(join(dir, 'home/.local/state/panto/trust'))).toBe(join(dir, 'home/.local/state/panto/trust'));
});
