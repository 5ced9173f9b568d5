import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ExtensionPath, Layer } from '../config/config.js';
import { type Discovered, discoverExtensions } from './discover.js';

let dir: string;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'panto-discover-')));
});
afterEach(() => rm(dir, { recursive: true }));

async function files(...names: string[]): Promise<void> {
  for (const name of names) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), 'return {}\n');
  }
}
function discover(options: { trusted?: boolean; paths?: [Layer, string][] } = {}): Promise<Discovered> {
  const paths = (options.paths ?? []).map(([layer, written]): ExtensionPath => {
    return { layer, written, path: join(dir, written), file: join(dir, 'home/.config/panto/config.toml'), line: 7 };
  });
  return discoverExtensions({
    baseDir: join(dir, 'package/lua'),
    configDir: join(dir, 'home/.config/panto'),
    projectRoot: join(dir, 'project'),
    home: join(dir, 'home'),
    trusted: options.trusted ?? true,
    paths,
  });
}
const USER = 'home/.config/panto';
const shown = ({ candidates }: Discovered): string[] =>
  candidates.map(({ layer, origin, kind, display }) => `${layer} ${origin} ${kind} ${display}`);

test('nothing anywhere is no candidate and no problem', async () => {
  expect(await discover()).toEqual({ candidates: [], untrusted: [], problems: [] });
});

test('the layers come weakest first, paths before folders, extensions/ before tools/, then by file name', async () => {
  await files('package/lua/tools/base.lua', 'package/lua/extensions/base.lua');
  await files(`${USER}/tools/b.lua`, `${USER}/tools/a.lua`, `${USER}/extensions/z.lua`, 'home/dev/y.lua');
  await files('project/.panto/extensions/x/init.lua', 'project/.panto/tools/w.mjs', 'project/dev/v.lua');
  const found = await discover({
    paths: [
      ['project', 'project/dev'],
      ['user', 'home/dev'],
    ],
  });
  expect(found.problems).toEqual([]);
  expect(shown(found)).toEqual([
    `base dir lua ${dir}/package/lua/extensions/base.lua`,
    `base dir lua ${dir}/package/lua/tools/base.lua`,
    'user paths lua ~/dev/y.lua',
    'user dir lua ~/.config/panto/extensions/z.lua',
    'user dir lua ~/.config/panto/tools/a.lua',
    'user dir lua ~/.config/panto/tools/b.lua',
    'project paths lua dev/v.lua',
    'project dir lua .panto/extensions/x/init.lua',
    'project dir native .panto/tools/w.mjs',
  ]);
});

test('a source has a folder of its own: NAME/ beside NAME.lua, or the one that holds init.lua', async () => {
  await files(`${USER}/extensions/a.lua`, `${USER}/extensions/a/helper.lua`, `${USER}/extensions/b/init.lua`);
  await files(`${USER}/extensions/c.d.lua`, `${USER}/tools/t.mjs`);
  const { candidates } = await discover();
  expect(candidates.map(({ path, dir: own }) => [path, own].map((part) => part.slice(dir.length + 1)))).toEqual([
    [`${USER}/extensions/a.lua`, `${USER}/extensions/a`],
    [`${USER}/extensions/b/init.lua`, `${USER}/extensions/b`],
    [`${USER}/extensions/c.d.lua`, `${USER}/extensions/c.d`],
    [`${USER}/tools/t.mjs`, `${USER}/tools/t`],
  ]);
});

test('helpers, tests, hidden and other files are skipped; native tools belong in tools/', async () => {
  await files(
    ...['_x.lua', 'x_test.lua', '.x.lua', 'x.txt', 'lua', 'n.mjs'].map((name) => `${USER}/extensions/${name}`),
  );
  await files(`${USER}/extensions/_folder/init.lua`, `${USER}/extensions/helpers/x.lua`);
  await files(`${USER}/tools/_n.mjs`, `${USER}/tools/n_test.mjs`, `${USER}/tools/n.js`);
  await mkdir(join(dir, USER, 'tools/folder.lua'));
  await mkdir(join(dir, USER, 'tools/init-is-folder/init.lua'), { recursive: true });
  const display = '~/.config/panto/tools/folder.lua';
  const problems = [{ display, message: `${display}: is a folder without init.lua` }];
  expect(await discover()).toEqual({ candidates: [], untrusted: [], problems });
});

test('an untrusted project is listed apart, and only its own folders', async () => {
  await files('project/.panto/tools/a.lua', 'project/dev/b.lua', `${USER}/tools/c.lua`);
  const found = await discover({ trusted: false, paths: [['project', 'project/dev']] });
  expect(found.candidates.map(({ display }) => display)).toEqual(['~/.config/panto/tools/c.lua']);
  expect(found.untrusted.map(({ display }) => display)).toEqual(['.panto/tools/a.lua']);
});

test('a path is a folder of extensions or the folder of one', async () => {
  await files('project/many/a.lua', 'project/many/b/init.lua', 'project/many/n.mjs', 'project/many/b/inner.lua');
  await files('project/one/init.lua', 'project/one/helper.lua');
  const found = await discover({
    paths: [
      ['project', 'project/many'],
      ['project', 'project/one'],
    ],
  });
  expect(shown(found)).toEqual([
    'project paths lua many/a.lua',
    'project paths lua many/b/init.lua',
    'project paths native many/n.mjs',
    'project paths lua one/init.lua',
  ]);
  expect(found.candidates[3]!.dir).toBe(join(dir, 'project/one'));
});

test('a path that gives nothing is one line that names the config file and line', async () => {
  await files('project/file.lua', 'project/empty/readme.txt');
  const { problems } = await discover({
    paths: [
      ['user', 'project/no\nwhere'],
      ['user', 'project/file.lua'],
      ['user', 'project/empty'],
    ],
  });
  expect(problems.map(({ message }) => message)).toEqual([
    '~/.config/panto/config.toml:7: extensions.paths: "project/no\\x0awhere" does not exist',
    '~/.config/panto/config.toml:7: extensions.paths: "project/file.lua" is not a folder; name the folder that holds it',
    '~/.config/panto/config.toml:7: extensions.paths: "project/empty" has no extension in it (NAME.lua, NAME/init.lua or NAME.mjs)',
  ]);
});

test('the same folder listed twice, once through a link, gives each source once', async () => {
  await files('project/dev/a.lua');
  await symlink(join(dir, 'project/dev'), join(dir, 'project/link'));
  const found = await discover({
    paths: [
      ['project', 'project/dev'],
      ['project', 'project/link'],
    ],
  });
  expect(shown(found)).toEqual(['project paths lua dev/a.lua']);
});

test('links are followed; one to nothing is a problem, not a silence', async () => {
  await files('elsewhere/a.lua', 'elsewhere/pack/init.lua');
  await mkdir(join(dir, USER, 'tools'), { recursive: true });
  await symlink(join(dir, 'elsewhere/a.lua'), join(dir, USER, 'tools/a.lua'));
  await symlink(join(dir, 'elsewhere/pack'), join(dir, USER, 'tools/pack'));
  await symlink(join(dir, 'gone'), join(dir, USER, 'tools/gone.lua'));
  const found = await discover();
  expect(found.candidates.map(({ display }) => display)).toEqual([
    '~/.config/panto/tools/a.lua',
    '~/.config/panto/tools/pack/init.lua',
  ]);
  expect(found.problems.map(({ message }) => message)).toEqual([
    '~/.config/panto/tools/gone.lua: cannot be read: ENOENT',
  ]);
});

test('a folder that cannot be read, or is a file, is one problem, and the others are found', async () => {
  await files(`${USER}/extensions`, `${USER}/tools/a.lua`);
  const found = await discover();
  expect(found.problems.map(({ message }) => message)).toEqual(['~/.config/panto/extensions: cannot be read: ENOTDIR']);
  expect(found.candidates).toHaveLength(1);
  if (process.getuid?.() === 0) return;
  await chmod(join(dir, USER, 'tools'), 0);
  expect((await discover()).problems).toHaveLength(2);
  await chmod(join(dir, USER, 'tools'), 0o700);
});
