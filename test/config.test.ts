// The layers of the configuration on real files.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Config, type ConfigResult, formatConfigError, loadConfig } from '../lib/config/config.js';

let dir: string;
let home: string;
let root: string;
let configDir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'panto-config-'));
  home = join(dir, 'home');
  root = join(dir, 'project');
  configDir = join(home, '.config/panto');
});
afterEach(() => rm(dir, { recursive: true }));

async function load(files: { user?: string; project?: string }, trusted = true): Promise<ConfigResult> {
  const write = async (file: string, text: string | undefined): Promise<void> => {
    if (text === undefined) return;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  await write(join(configDir, 'config.toml'), files.user);
  await write(join(root, '.panto/config.toml'), files.project);
  return loadConfig({ paths: { configDir }, projectRoot: root, trusted, home });
}
async function config(files: { user?: string; project?: string }, trusted = true): Promise<Config> {
  const result = await load(files, trusted);
  if ('errors' in result) throw new Error(JSON.stringify(result.errors));
  return result.config;
}
async function errors(files: { user?: string; project?: string }): Promise<string[]> {
  const result = await load(files);
  return 'errors' in result ? result.errors.map((error) => formatConfigError(error, root, home)) : [];
}

test('without any file every setting has its default', async () => {
  expect(await config({})).toEqual({
    agent: { parallelTools: true, workers: 4, toolTimeoutMs: 120_000, disabledTools: [], maxTurns: 100 },
    lua: {
      callTimeoutMs: 120_000,
      holdLimitMs: 5000,
      activateTimeoutMs: 5000,
      handlerTimeoutMs: 5000,
      memoryLimitBytes: 512_000_000,
    },
    extensions: { rules: [], rocks: [], paths: [], settings: {} },
    permissions: { mode: 'ask' },
    rocks: {
      servers: ['https://luarocks.org'],
      offline: false,
      timeoutMs: 30_000,
      allowGit: false,
      allowCommandBuild: false,
    },
    providers: {},
  });
});

test('the project wins over the user, key by key', async () => {
  const { agent, rocks, permissions, providers } = await config({
    user: '[agent]\nmodel = "a/one"\nworkers = 2\n[rocks]\nservers = ["https://a", "https://b"]\n[providers.x]\nbase_url = "http://u"\napi_key_env = "K"',
    project:
      '[agent]\nmodel = "a/two"\n[rocks]\nservers = ["https://c"]\n[permissions]\nmode = "read-only"\n[providers.x]\nbase_url = "http://p"',
  });
  expect([agent.model, agent.workers, rocks.servers, permissions.mode]).toEqual([
    'a/two',
    2,
    ['https://c'],
    'read-only',
  ]);
  expect(providers).toEqual({ x: { baseUrl: 'http://p', apiKeyEnv: 'K' } });
});

test('an untrusted project changes nothing and reports nothing, however broken its file is', async () => {
  const { agent } = await config({ user: '[agent]\nworkers = 3', project: '[agent]\nworkers = 9\n!' }, false);
  expect(agent.workers).toBe(3);
});

test('allow and deny of all layers are kept, with layer, file and line', async () => {
  const { extensions } = await config({
    user: '[extensions]\ndeny = [\n  "a.*",\n  "b",\n]\nallow = ["a.x"]\n',
    project: 'extensions.allow = ["b"]\n',
  });
  const user = { layer: 'user', file: join(configDir, 'config.toml') };
  expect(extensions.rules).toEqual([
    { pattern: 'a.x', effect: 'allow', ...user, line: 6 },
    { pattern: 'a.*', effect: 'deny', ...user, line: 3 },
    { pattern: 'b', effect: 'deny', ...user, line: 4 },
    { pattern: 'b', effect: 'allow', layer: 'project', file: join(root, '.panto/config.toml'), line: 1 },
  ]);
});

test('rocks and paths of all layers are kept; relative paths start at the config file or the project root', async () => {
  const { extensions } = await config({
    user: 'extensions.rocks = ["a 1-1"]\nextensions.paths = ["dev", "~/mine"]\n',
    project: 'extensions.rocks = ["b"]\nextensions.paths = ["./dev", "/abs"]\n',
  });
  expect(extensions.rocks.map(({ spec, layer }) => [layer, spec])).toEqual([
    ['user', 'a 1-1'],
    ['project', 'b'],
  ]);
  expect(extensions.paths.map(({ path, written, line }) => [written, path, line])).toEqual([
    ['dev', join(configDir, 'dev'), 2],
    ['~/mine', join(home, 'mine'), 2],
    ['./dev', join(root, 'dev'), 2],
    ['/abs', '/abs', 2],
  ]);
});

test('a tool that any layer disables is off', async () => {
  const { agent } = await config({
    user: 'agent.disabled_tools = ["bash", "ls"]',
    project: 'agent.disabled_tools = ["ls"]',
  });
  expect(agent.disabledTools).toEqual(['bash', 'ls']);
});

test('settings merge table by table, lists and values are replaced, dates become text', async () => {
  const { extensions } = await config({
    user: '[extensions.settings."agent.rules"]\nlist = [1, 2]\nkeep = true\nt = { a = 1, b = 2 }\nwhen = 2020-01-02T03:04:05Z\n',
    project: '[extensions.settings]\n"agent.rules" = { list = [3], t = { b = 3 } }\nother = { x = 1 }\n',
  });
  expect(extensions.settings).toEqual({
    'agent.rules': { list: [3], keep: true, t: { a: 1, b: 3 }, when: '2020-01-02T03:04:05.000Z' },
    other: { x: 1 },
  });
});

test('settings named like parts of every object are only names', async () => {
  const { extensions } = await config({
    user: '[extensions.settings]\nconstructor = { a = 1 }\n"__proto__" = { polluted = true }\n',
    project: '[extensions.settings]\nconstructor = { b = 2 }\n"x" = { "__proto__" = { polluted = true } }\n',
  });
  expect(extensions.settings.constructor).toEqual({ a: 1, b: 2 });
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect(Object.keys(extensions.settings)).toEqual(['constructor', '__proto__', 'x']);
});

test('every error of both files is reported, each as one line with file, line and column, and there is no config', async () => {
  const found = await errors({
    user: '[extensions]\ndeny = "x"\nallwo = []\n',
    project: '[agent]\n  workers = { a = 1 }\n[lua]\nhold_limit = "5 s"\n',
  });
  expect(found).toEqual([
    '~/.config/panto/config.toml:2:8: extensions.deny must be a list of strings, not a string; write ["x"]',
    '~/.config/panto/config.toml:3:1: unknown key allwo in [extensions]; did you mean allow?',
    '.panto/config.toml:2:13: agent.workers must be a whole number from 1 to 256, not a table',
    '.panto/config.toml:4:14: lua.hold_limit must be a duration such as "2.5s", "500ms" or "10m", not "5 s"',
  ]);
});

test.each([
  [
    '[permissions]\nmode = "auto',
    ':2:13: not valid TOML: the line ends too early|:2:13: not valid TOML: the file ends',
  ],
  ['[extensions]\ndeny = ["x"]\ndeny = []\n', ":3:1: Cannot redefine existing key 'extensions.deny'"],
  ['[tools]\nallow = ["x"]\n', ':1:1: \\[tools\\] is not a section: .*\\[extensions\\]'],
  ['extensions.deny = ["a", "a**"]', ':1:25: extensions.deny\\[1\\] holds the pattern "a\\*\\*"'],
])('a broken security setting stops the start: %j', async (project, expected) => {
  const found = await errors({ user: '[extensions]\ndeny = ["**"]\n', project });
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(new RegExp(`^\\.panto/config\\.toml(${expected})`));
  expect(found[0]).not.toContain('\n');
});

test('a path that cannot be resolved is an error at its place', async () => {
  expect(await errors({ user: '[extensions]\npaths = [ "~bob/x" ]\n' })).toEqual([
    '~/.config/panto/config.toml:2:11: extensions.paths: "~bob/x": only ~ and ~/… are expanded, not the home of another user',
  ]);
});

test('a config that cannot be opened stops the start', async () => {
  await mkdir(join(configDir, 'config.toml'), { recursive: true });
  expect(await errors({})).toEqual(['~/.config/panto/config.toml: is not a regular file']);
});

test('a value cannot smuggle a control sequence into the message', async () => {
  const [line] = await errors({ user: 'permissions.mode = "\\u001b[2J\\nx"\n' });
  expect(line).toMatch(/must be one of/);
  expect(line).not.toMatch(/[\u0000-\u001f]/);
});
