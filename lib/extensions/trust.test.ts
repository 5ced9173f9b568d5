import { execFileSync } from 'node:child_process';
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  keepTrust,
  listTrusted,
  revokeTrust,
  type TrustReport,
  type TrustStore,
  trustProject,
  trustState,
} from './trust.js';

let dir: string;
let root: string;
let store: TrustStore;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'panto-trust-')));
  root = join(dir, 'project');
  store = { stateDir: join(dir, 'state/panto'), home: join(dir, 'home') };
  await mkdir(root);
});
afterEach(() => rm(dir, { recursive: true }));

async function file(name: string, text = 'return {}\n'): Promise<void> {
  await mkdir(dirname(join(dir, name)), { recursive: true });
  await writeFile(join(dir, name), text);
}
const look = (at = root): Promise<TrustReport> => trustState(at, store);
const state = async (at = root): Promise<string> => (await look(at)).state;
async function trust(): Promise<void> {
  await trustProject(await look(), store);
  expect(await state()).toBe('trusted');
}

test('a project without content has nothing to trust, empty folders included', async () => {
  expect(await look()).toMatchObject({ state: 'nothing', contents: [] });
  await mkdir(join(root, '.panto/extensions/empty'), { recursive: true });
  await file('project/.panto/rocks.lock');
  expect(await state()).toBe('nothing');
  expect(await state(join(dir, 'gone'))).toBe('untrusted');
});

test('content is untrusted until it is trusted, and the report says what there is', async () => {
  await file('project/.panto/config.toml', 'extensions.paths = ["./dev", "~/mine", "gone"]\n');
  await file('project/.panto/tools/a.lua');
  await file('project/.panto/tools/b/init.lua');
  await file('project/dev/c.lua');
  await file('home/mine/d.lua');
  expect(await look()).toMatchObject({
    root,
    state: 'untrusted',
    contents: ['.panto/config.toml', '.panto/tools: 2 files', 'dev: 1 file', '~/mine: 1 file'],
  });
  await trust();
});

test.each<[string, () => Promise<void>]>([
  ['config.toml', () => appendFile(join(root, '.panto/config.toml'), '# more\n')],
  ['an extension', () => appendFile(join(root, '.panto/extensions/a/init.lua'), '-- more\n')],
  ['a helper in a folder', () => appendFile(join(root, '.panto/extensions/a/deep/h.lua'), '-- more\n')],
  ['a hidden helper', () => file('project/.panto/extensions/a/.h.lua')],
  ['a new tool', () => file('project/.panto/tools/new.mjs')],
  ['a tool that is gone', () => rm(join(root, '.panto/tools/t.lua'))],
  ['a tool that is renamed', () => rename(join(root, '.panto/tools/t.lua'), join(root, '.panto/tools/u.lua'))],
  [
    'a tool that moved to extensions/',
    () => rename(join(root, '.panto/tools/t.lua'), join(root, '.panto/extensions/t.lua')),
  ],
  ['the target of a path', () => appendFile(join(root, 'dev/d.lua'), '-- more\n')],
  ['a target of a path that was not there', () => file('project/later/x.lua')],
  ['what a link points to', () => appendFile(join(dir, 'outside/l.lua'), '-- more\n')],
  ['what a link to a folder points to', () => appendFile(join(dir, 'outside/folder/init.lua'), '-- more\n')],
  ['a link to nothing that finds something', () => file('outside/later.lua')],
])('%s asks again', async (_what, change) => {
  await file('project/.panto/config.toml', 'extensions.paths = ["dev", "later"]\n');
  await file('project/.panto/extensions/a/init.lua');
  await file('project/.panto/extensions/a/deep/h.lua');
  await file('project/.panto/tools/t.lua');
  await file('project/dev/d.lua');
  await file('outside/l.lua');
  await file('outside/folder/init.lua');
  await symlink('../../../outside/l.lua', join(root, '.panto/tools/l.lua'));
  await symlink(join(dir, 'outside/folder'), join(root, '.panto/tools/folder'));
  await symlink(join(dir, 'outside/later.lua'), join(root, '.panto/tools/later.lua'));
  await trust();
  await change();
  expect(await state()).toBe('changed');
  await trust();
});

test('what does not change the content does not ask again', async () => {
  await file('project/.panto/tools/t.lua');
  await trust();
  await file('project/.panto/rocks.lock', 'x\n');
  await file('project/src/main.c');
  await file('project/.panto/tools/.git/index');
  await chmod(join(root, '.panto/tools/t.lua'), 0o755);
  await utimes(join(root, '.panto/tools/t.lua'), 1, 1);
  expect(await state()).toBe('trusted');
  await appendFile(join(root, '.panto/tools/t.lua'), '\n');
  expect(await state()).toBe('changed');
  await writeFile(join(root, '.panto/tools/t.lua'), 'return {}\n');
  expect(await state()).toBe('trusted');
});

test('moving bytes between a name and a content does not keep the hash', async () => {
  await file('project/.panto/tools/a', 'b');
  await trust();
  await rm(join(root, '.panto/tools/a'));
  await file('project/.panto/tools/ab', '');
  expect(await state()).toBe('changed');
});

test('the trust is for what the report was about, not for what came later', async () => {
  await file('project/.panto/tools/t.lua');
  const seen = await look();
  await appendFile(join(root, '.panto/tools/t.lua'), 'os.execute "evil"\n');
  await trustProject(seen, store);
  expect(await state()).toBe('changed');
});

test('the trust is for one place: a copy elsewhere is asked for, a link to the place is not', async () => {
  await file('project/.panto/tools/t.lua');
  await file('copy/.panto/tools/t.lua');
  await trust();
  await symlink(root, join(dir, 'link'));
  expect([await state(join(dir, 'copy')), await state(join(dir, 'link'))]).toEqual(['untrusted', 'trusted']);
});

test('links in a circle end', async () => {
  await file('project/.panto/tools/t.lua');
  await symlink('..', join(root, '.panto/tools/up'));
  await symlink('self.lua', join(root, '.panto/tools/self.lua'));
  await trust();
});

test('a pipe is noticed and never read', async () => {
  await mkdir(join(root, '.panto/tools'), { recursive: true });
  execFileSync('mkfifo', [join(root, '.panto/tools/pipe.lua')]);
  expect(await look()).toMatchObject({ state: 'untrusted', contents: ['.panto/tools: 1 file'] });
});

test('a config that cannot be parsed is content like any other', async () => {
  await file('project/.panto/config.toml', '[extensions\npaths = [');
  expect(await state()).toBe('untrusted');
  await trust();
});

test('too many files are not trusted, with the reason', async () => {
  await file('project/.panto/config.toml', 'extensions.paths = ["/usr"]\n');
  const report = await look();
  expect(report).toMatchObject({ state: 'untrusted', contents: [] });
  expect(report.problem).toMatch(/^more than (10000 files, too many|256 MiB, too much) to check: \/usr\/[^\n]*$/);
  await expect(trustProject(report, store)).rejects.toThrow(/^.*project cannot be trusted: more than /);
});

test.each([
  ['a file', '/proc/self/mem', /^cannot be read \(EIO\): [^\n]*\/x\.lua$/],
  ['a folder', '/proc/self/mem/x', /^cannot be read \(ENOTDIR\): [^\n]*\/x\.lua$/],
])('content with %s that cannot be read is not trusted, with the reason', async (_what, target, expected) => {
  await file('project/.panto/tools/t.lua');
  await trust();
  await symlink(target, join(root, '.panto/tools/x.lua'));
  expect(await look()).toMatchObject({ state: 'untrusted', problem: expect.stringMatching(expected) });
});

test('what panto itself writes keeps the trust, and gives none', async () => {
  await file('project/.panto/config.toml');
  const change = async (): Promise<string> => {
    await appendFile(join(root, '.panto/config.toml'), '# x\n');
    return 'done';
  };
  const write = (): Promise<string> => keepTrust(root, store, change);
  expect(await write()).toBe('done');
  expect(await state()).toBe('untrusted');
  await trust();
  await write();
  expect(await state()).toBe('trusted');
  await appendFile(join(root, '.panto/config.toml'), '# somebody else\n');
  await write();
  expect(await state()).toBe('changed');
});

test('decisions are listed and revoked, also of a project that is gone', async () => {
  await file('project/.panto/tools/t.lua');
  await file('other/.panto/tools/t.lua');
  expect(await listTrusted(store)).toEqual([]);
  await trust();
  await trustProject(await look(join(dir, 'other')), store);
  expect((await listTrusted(store)).map((trusted) => trusted.root)).toEqual([join(dir, 'other'), root]);
  expect(await revokeTrust(root, store)).toBe(true);
  expect(await revokeTrust(root, store)).toBe(false);
  expect(await state()).toBe('untrusted');
  await rm(join(dir, 'other'), { recursive: true });
  expect(await revokeTrust(join(dir, 'other'), store)).toBe(true);
  expect(await listTrusted(store)).toEqual([]);
});

test('the record is for the user alone and replaced as a whole', async () => {
  await file('project/.panto/tools/t.lua');
  await trust();
  await trust();
  const names = await readdir(join(store.stateDir, 'trust'));
  expect(names).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.json$/)]);
  expect((await stat(join(store.stateDir, 'trust', names[0]!))).mode & 0o777).toBe(0o600);
  expect((await stat(join(store.stateDir, 'trust'))).mode & 0o777).toBe(0o700);
});

test.each(['', '{', 'null', '[]', '{"version":2}', '{"version":1,"root":"/","digest":""}'])(
  'a broken record (%j) trusts nothing',
  async (text) => {
    await file('project/.panto/tools/t.lua');
    await trust();
    const [name] = await readdir(join(store.stateDir, 'trust'));
    await writeFile(join(store.stateDir, 'trust', name!), text);
    expect(await state()).toBe('untrusted');
    expect(await listTrusted(store)).toEqual([]);
  },
);

test('a decision that cannot be written is one line', async () => {
  await file('project/.panto/tools/t.lua');
  await file('state/panto');
  await expect(trustProject(await look(), store)).rejects.toThrow(
    /^the trust in [^\n]*project cannot be remembered: E[^\n]+$/,
  );
});

test('many starts that trust at once lose no decision', async () => {
  const roots = Array.from({ length: 20 }, (_, index) => `many/${index}`);
  for (const name of roots) await file(`${name}/.panto/tools/t.lua`, name);
  await Promise.all(roots.map(async (name) => trustProject(await look(join(dir, name)), store)));
  expect(await listTrusted(store)).toHaveLength(20);
});
