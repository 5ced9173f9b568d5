import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Layer, PolicyRule } from '../config/config.js';
import type { Json } from '../core/types.js';
import type { Candidate, Origin } from './discover.js';
import { type ExtensionHost, type LoadInput, type LoadResult, loadExtensions } from './load.js';
import { compilePolicy } from './policy.js';

/** A host that plays the Lua runtime: what each path returns or throws, and a log of all that was asked of it. */
function fakeHost(
  sources: Readonly<Record<string, readonly string[] | Error>>,
  failing: Readonly<Record<string, string>> = {},
): ExtensionHost & { log: string[]; settings: Record<string, Json> } {
  const names: string[] = [];
  const log: string[] = [];
  const settings: Record<string, Json> = {};
  return {
    log,
    settings,
    async evaluate({ path }) {
      log.push(`evaluate ${path}`);
      const source = sources[path] ?? new Error(`${path}: unknown to the test`);
      if (!Array.isArray(source)) throw source;
      return source.map((name: string) => ({ id: names.push(name) - 1, name, description: `about ${name}` }));
    },
    async activate(entry, options) {
      const name = names[entry]!;
      log.push(`activate ${name}`);
      settings[name] = options.settings;
      if (failing[name] !== undefined) throw new Error(failing[name]);
    },
    async drop(entry) {
      log.push(`drop ${names[entry]}#${entry}`);
    },
  };
}
function candidate(layer: Layer, origin: Origin, path: string, kind: Candidate['kind'] = 'lua'): Candidate {
  return { layer, origin, path, dir: path.replace(/\.\w+$/, ''), kind, display: path };
}
async function load(
  input: Pick<LoadInput, 'candidates' | 'host'> & Partial<LoadInput>,
  rules: Partial<Record<'allow' | 'deny', string[]>> = {},
): Promise<LoadResult & { rows: string[]; lines: string[] }> {
  const written = { layer: 'user', file: '/u/config.toml', line: 3 } as const;
  const policyRules = (['allow', 'deny'] as const).flatMap((effect) =>
    (rules[effect] ?? []).map((pattern): PolicyRule => ({ pattern, effect, ...written })),
  );
  const result = await loadExtensions({ policy: await compilePolicy(policyRules), settings: {}, ...input });
  return {
    ...result,
    rows: result.states.map(({ name, display, status, reason }) => [name ?? '?', display, status, reason].join(' | ')),
    lines: result.problems.map(({ message }) => message),
  };
}

test('everything is evaluated before anything is activated, and activated weakest first', async () => {
  const host = fakeHost({ b: ['x.b'], u1: ['z', 'y'], u2: ['w'], p: ['v'] });
  const candidates = [
    candidate('base', 'dir', 'b'),
    candidate('user', 'dir', 'u1'),
    candidate('project', 'dir', 'p'),
    candidate('user', 'rocks', 'u2'),
  ];
  const { rows, lines } = await load({ candidates, host });
  expect(host.log).toEqual([
    ...['evaluate b', 'evaluate u1', 'evaluate p', 'evaluate u2'],
    ...['activate x.b', 'activate w', 'activate y', 'activate z', 'activate v'],
  ]);
  expect(rows).toEqual([
    'x.b | b | loaded | ',
    'z | u1 | loaded | ',
    'y | u1 | loaded | ',
    'v | p | loaded | ',
    'w | u2 | loaded | ',
  ]);
  expect(lines).toEqual([]);
});

test('project shadows user shadows base, and dir shadows paths shadows rocks, in whatever order they are found', async () => {
  const order: [Layer, Origin][] = [
    ['base', 'dir'],
    ['user', 'rocks'],
    ['user', 'paths'],
    ['user', 'dir'],
    ['project', 'rocks'],
    ['project', 'paths'],
    ['project', 'dir'],
  ];
  for (let strongest = 1; strongest < order.length; strongest++) {
    const used = order.slice(0, strongest + 1).map(([layer, origin]) => candidate(layer, origin, `${layer}-${origin}`));
    for (const candidates of [used, [...used].reverse()]) {
      const host = fakeHost(Object.fromEntries(used.map(({ path }) => [path, ['same.name']])));
      const { states, problems } = await load({ candidates, host });
      expect(problems).toEqual([]);
      const loaded = states.filter(({ status }) => status === 'loaded').map(({ path }) => path);
      expect(loaded).toEqual([order[strongest]!.join('-')]);
      const reasons = new Set(states.filter(({ status }) => status === 'shadowed').map(({ reason }) => reason));
      expect([...reasons]).toEqual([`by ${order[strongest]!.join('-')}`]);
      expect(host.log.filter((line) => line.startsWith('drop'))).toHaveLength(strongest);
      expect(host.log.filter((line) => line.startsWith('activate'))).toEqual(['activate same.name']);
    }
  }
});

test('a name twice in one origin is an error that names both; the first stays', async () => {
  const host = fakeHost({ 'extensions/z.lua': ['same'], 'tools/a.lua': ['same', 'other'], 'base.lua': ['same'] });
  const candidates = [
    candidate('base', 'dir', 'base.lua'),
    candidate('user', 'dir', 'extensions/z.lua'),
    candidate('user', 'dir', 'tools/a.lua'),
  ];
  const { rows, lines } = await load({ candidates, host });
  expect(lines).toEqual(['tools/a.lua: the name "same" is already taken by extensions/z.lua; the first stays']);
  expect(rows).toEqual([
    'same | base.lua | shadowed | by extensions/z.lua',
    'same | extensions/z.lua | loaded | ',
    `same | tools/a.lua | failed | ${lines[0]}`,
    'other | tools/a.lua | loaded | ',
  ]);
  expect(host.log.slice(3)).toEqual(['drop same#0', 'drop same#2', 'activate other', 'activate same']);
});

test('a name twice in one file is an error too, and an error of two shadowed ones is still told', async () => {
  const host = fakeHost({ 'u.lua': ['same', 'same'], 'p.lua': ['same'] });
  const candidates = [candidate('user', 'dir', 'u.lua'), candidate('project', 'dir', 'p.lua')];
  const { states, lines } = await load({ candidates, host });
  expect(lines).toEqual(['u.lua: the name "same" is already taken by this file itself; the first stays']);
  expect(states.map(({ status }) => status)).toEqual(['shadowed', 'failed', 'loaded']);
});

test('what is denied is evaluated, not activated, and says which rule it was', async () => {
  const host = fakeHost({ 'a.lua': ['agent.rules', 'agent.skills'] });
  const { rows, lines } = await load(
    { candidates: [candidate('user', 'dir', 'a.lua')], host },
    { deny: ['agent.*'], allow: ['agent.rules'] },
  );
  expect(rows).toEqual([
    'agent.rules | a.lua | loaded | ',
    'agent.skills | a.lua | denied | by deny = "agent.*" in /u/config.toml:3',
  ]);
  expect(host.log).toEqual(['evaluate a.lua', 'activate agent.rules', 'drop agent.skills#1']);
  expect(lines).toEqual([]);
});

test('a denied name still shadows: the policy is about names, not about files', async () => {
  const host = fakeHost({ 'u.lua': ['x'], 'p.lua': ['x'] });
  const candidates = [candidate('user', 'dir', 'u.lua'), candidate('project', 'dir', 'p.lua')];
  const { states } = await load({ candidates, host }, { deny: ['x'] });
  expect(states.map(({ status }) => status)).toEqual(['shadowed', 'denied']);
});

test('one broken source costs itself only, with one line that names the file', async () => {
  const host = fakeHost(
    {
      'syntax.lua': new Error("syntax.lua:3: unexpected symbol near '='"),
      'nil.lua': new Error('returned nil'),
      'badname.lua': ['my tool!', '', 'ok.name', 'a..b', 'x\n'],
      'activate.lua': ['boom'],
      'good.lua': ['good'],
    },
    { boom: 'activate.lua:7: attempt to index a nil value\nstack' },
  );
  const candidates = ['syntax', 'nil', 'badname', 'activate', 'good'].map((name) =>
    candidate('user', 'dir', `${name}.lua`),
  );
  const { rows, lines } = await load({ candidates, host });
  const invalid = 'is not valid: use letters, digits, _ and -, with dots between';
  expect(lines).toEqual([
    "syntax.lua:3: unexpected symbol near '='",
    'nil.lua: returned nil',
    `badname.lua: the name "my tool!" ${invalid}`,
    `badname.lua: the name "" ${invalid}`,
    `badname.lua: the name "a..b" ${invalid}`,
    `badname.lua: the name "x\\n" ${invalid}`,
    'activate.lua:7: attempt to index a nil value\\x0astack',
  ]);
  expect(rows.filter((row) => row.includes('loaded'))).toEqual([
    'ok.name | badname.lua | loaded | ',
    'good | good.lua | loaded | ',
  ]);
  expect(rows.find((row) => row.startsWith('boom'))).toBe(`boom | activate.lua | failed | ${lines[6]}`);
  expect(host.log.filter((line) => line.startsWith('drop'))).toHaveLength(4);
});

test('each extension gets the settings under its own name, and no more than that', async () => {
  const host = fakeHost({ 'a.lua': ['agent.rules', 'constructor'] });
  const settings = { 'agent.rules': { depth: 2 }, other: { x: 1 } };
  await load({ candidates: [candidate('user', 'dir', 'a.lua')], host, settings });
  expect(host.settings).toEqual({ 'agent.rules': { depth: 2 }, constructor: {} });
});

test('sources of an untrusted project are shown as not evaluated and shadow nothing', async () => {
  const host = fakeHost({ 'u.lua': ['x'] });
  const { rows } = await load({
    candidates: [candidate('user', 'dir', 'u.lua')],
    untrusted: [candidate('project', 'dir', 'x.lua')],
    host,
  });
  expect(rows).toEqual(['x | u.lua | loaded | ', '? | x.lua | not evaluated | the project is not trusted']);
  expect(host.log).toEqual(['evaluate u.lua', 'activate x']);
});

describe('native tools', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'panto-load-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  async function native(layer: Layer, file: string, source: string): Promise<Candidate> {
    await writeFile(join(dir, file), source);
    return { ...candidate(layer, 'dir', join(dir, file), 'native'), display: file };
  }
  const tool = (name: string): string =>
    `export const tool = { name: "${name}", description: "d", inputSchema: { type: "object" } };\nexport const run = () => "";\n`;

  test('share names, policy and shadowing with Lua extensions', async () => {
    const host = fakeHost({ 'u.lua': ['echo', 'lua_only'], 'p.lua': ['up'] });
    const candidates = [
      await native('user', 'up.mjs', tool('up')),
      candidate('user', 'dir', 'u.lua'),
      await native('project', 'echo.mjs', tool('echo')),
      await native('project', 'off.mjs', tool('off')),
      candidate('project', 'dir', 'p.lua'),
    ];
    const { rows, tools, lines } = await load({ candidates, host }, { deny: ['off'] });
    expect(lines).toEqual([]);
    expect(rows).toEqual([
      'up | up.mjs | shadowed | by p.lua',
      'echo | u.lua | shadowed | by echo.mjs',
      'lua_only | u.lua | loaded | ',
      'echo | echo.mjs | loaded | ',
      'off | off.mjs | denied | by deny = "off" in /u/config.toml:3',
      'up | p.lua | loaded | ',
    ]);
    expect(tools.map(({ name, module }) => [name, module.href.endsWith('/echo.mjs')])).toEqual([['echo', true]]);
  });

  test('broken ones cost themselves only', async () => {
    const host = fakeHost({ 'u.lua': ['x'] });
    const candidates = [
      await native('user', 'loop.mjs', 'for (;;);\n'),
      await native('user', 'exit.mjs', 'process.exit(3);\n'),
      await native('user', 'good.mjs', tool('good')),
      candidate('user', 'dir', 'u.lua'),
      await native('user', 'gooe.mjs', tool('good')),
    ];
    const { tools, states, lines } = await load({ candidates, host, nativeTimeoutMs: 6000 });
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(states.map(({ status }) => status)).toEqual(['failed', 'failed', 'loaded', 'loaded', 'failed']);
    expect(lines).toEqual([
      'loop.mjs: importing it did not end within 6000 ms',
      'exit.mjs: importing it ended its thread (exit code 3)',
      'gooe.mjs: the name "good" is already taken by good.mjs; the first stays',
    ]);
  });

  test('are loaded where there is no Lua, and Lua sources say so', async () => {
    const candidates = [candidate('user', 'dir', 'u.lua'), await native('user', 'good.mjs', tool('good'))];
    const { rows, lines } = await load({ candidates, host: undefined });
    expect(rows).toEqual(['? | u.lua | not evaluated | Lua is not available', 'good | good.mjs | loaded | ']);
    expect(lines).toEqual([]);
  });
});
