// The sync of the tree with the real compiler and real processes: a first start, one with nothing to do, one after a change.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import { luaVersion, type Tree, treeAt, treeIsCurrent } from '../lib/rocks/index.js';
import { thisInstallation } from '../lib/rocks/installation.js';
import {
  dir,
  failure,
  home,
  leftovers,
  makeTree,
  namespace,
  program,
  type Sync,
  script,
  symbols,
  sync,
  testWithMounts,
} from './bootstrap-harness.js';

let madeHome: string;
let made: Tree;
let madeLuv: Buffer;

beforeAll(async () => {
  ({ home: madeHome, tree: made, luv: madeLuv } = await makeTree());
});

function copyOfMade(): Tree {
  cpSync(madeHome, home(), { recursive: true });
  return treeAt(home());
}

describe('a first sync', () => {
  test('makes the tree with headers, luarocks’ configuration and a luv that takes lua_* and uv_* from its host', () => {
    for (const name of ['lua.h', 'luaconf.h', 'lauxlib.h', 'lualib.h', 'uv.h', 'uv/unix.h']) {
      expect(readFileSync(join(made.include, name))).toEqual(
        readFileSync(join(packageRoot, 'dist/tree/include', name)),
      );
    }
    for (const folder of [made.luaDir, made.libDir, join(made.root, 'lib/luarocks/rocks-5.4')]) {
      expect([folder, statSync(folder).isDirectory()]).toEqual([folder, true]);
    }
    expect(symbols(made.luv)).toMatch(/ T luaopen_luv$/m);
    expect(symbols(made.luv)).toMatch(/ U uv_run$/m);
    expect(symbols(made.luv)).toMatch(/ U lua_gettop$/m);
    expect(symbols(made.luv)).not.toMatch(/ T uv_run$/m);
    expect(leftovers(made)).toEqual([]);
  });

  test('ignores the Lua and compiler settings of the user', async () => {
    const junk = join(dir, 'junk');
    mkdirSync(junk);
    for (const name of ['lua.h', 'uv.h', 'stdio.h']) writeFileSync(join(junk, name), '#error junk\n');
    const compilerJunk = { CC: '/bin/false', CFLAGS: '-DX', CPATH: junk, C_INCLUDE_PATH: junk, LIBRARY_PATH: junk };
    const luaJunk = { LUA_INIT: 'error("x")', LUA_INIT_5_4: '@/absent', LUA_PATH: 'junk', LUA_CPATH_5_4: 'junk' };
    const env = { ...compilerJunk, ...luaJunk, MAKEFLAGS: '-j8', LD_PRELOAD: '', TMPDIR: '/absent' };
    const { result } = await sync({ pantoHome: home() }, { env });
    expect(result.kind).toBe('installed');
    expect(readFileSync(treeAt(home()).luv).equals(madeLuv)).toBe(true);
  });

  test('works below a path with blanks, quotes and dollars, and its lua runs the panto that made it', async () => {
    const odd = join(dir, 'a b c é\'q$x"`\\');
    mkdirSync(odd);
    // Stands for bin/panto: prints what it was given.
    const panto = join(odd, 'panto');
    writeFileSync(
      panto,
      'const { PANTO_HOME, PANTO_NO_SYNC, PANTO_LUA_ARGV0 } = process.env;' +
        'console.log(JSON.stringify({ args: process.argv.slice(2), PANTO_HOME, PANTO_NO_SYNC, PANTO_LUA_ARGV0 }));',
    );
    const options = { pantoHome: join(odd, 'home'), installation: { ...thisInstallation(), panto } };
    const { result } = await sync(options);
    expect(result.kind).toBe('installed');
    expect((await sync(options)).result.kind).toBe('ready');
    const tree = treeAt(options.pantoHome);
    expect(symbols(tree.luv)).toMatch(/ T luaopen_luv$/m);
    const args = ['-e', 'print("x y")', '', '--help', "'"];
    const output = execFileSync(tree.hostLua, args, { cwd: '/', env: {}, encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual({
      args: ['lua', ...args],
      PANTO_HOME: options.pantoHome,
      PANTO_NO_SYNC: '1',
      PANTO_LUA_ARGV0: tree.hostLua,
    });
    const quoted = tree.include.replace(/["\\]/g, '\\$&');
    expect(readFileSync(tree.config, 'utf8')).toContain(`LUA_INCDIR = "${quoted}",`);
  });
});

describe('a sync with nothing to do', () => {
  test('starts no process, opens no connection and writes nothing', () => {
    const log = join(dir, 'trace');
    const before = readFileSync(join(made.privateDir, 'state.json'));
    const calls = 'execve,execveat,fork,vfork,socket,connect,mkdir,rename,renameat,renameat2,unlink,unlinkat,openat';
    const args = ['-f', '-o', log, '-e', `trace=${calls}`, process.execPath, program];
    const output = execFileSync('strace', [...args, JSON.stringify({ pantoHome: madeHome })], { encoding: 'utf8' });
    expect((JSON.parse(output) as Sync).result).toEqual({ kind: 'ready', tree: made });
    const trace = readFileSync(log, 'utf8').split('\n');
    expect(trace.filter((line) => /exec(ve|veat)\(/.test(line))).toHaveLength(1);
    expect(trace.filter((line) => /\b(v?fork|socket|connect)\(/.test(line))).toEqual([]);
    const writes = /\b(mkdir|rename\w*|unlink\w*)\(|openat\(.*O_(WRONLY|RDWR|CREAT)/;
    expect(trace.filter((line) => writes.test(line) && line.includes(madeHome))).toEqual([]);
    expect(trace.filter((line) => line.includes(madeHome)).length).toBeGreaterThan(0);
    expect(readFileSync(join(made.privateDir, 'state.json'))).toEqual(before);
  });

  testWithMounts('works on a read-only file system', async () => {
    const tree = copyOfMade();
    await sync({ pantoHome: home() });
    const mount = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"';
    const prefix = [...namespace, 'sh', '-c', mount, 'sh', dir];
    expect((await sync({ pantoHome: home() }, { prefix })).result).toEqual({ kind: 'ready', tree });
    // The control: in there nothing can be written.
    const message = await failure({ pantoHome: home('other') }, { prefix });
    expect(message).toMatch(
      /^cannot write .*other.*: the file system is read-only; make it writable or set PANTO_HOME/,
    );
    // Another node than the tree was made with: Lua runs, the wrapper stays as it is and a line says so.
    const installation = { ...thisInstallation(), node: '/usr/bin/other-node' };
    const moved = await sync({ pantoHome: home(), installation }, { prefix });
    expect(moved.result.kind).toBe('ready');
    expect(moved.progress).toEqual([expect.stringContaining('the file system is read-only')]);
  });

  test('a tree whose times changed, as in an image, is compared by content and not compiled', async () => {
    const tree = copyOfMade();
    await sync({ pantoHome: home() });
    utimesSync(tree.luv, 1, 1);
    expect(treeIsCurrent(tree)).toBe(false);
    const { result } = await sync({ pantoHome: home(), compiler: '/absent/cc' });
    expect(result.kind).toBe('ready');
    expect(treeIsCurrent(tree)).toBe(true);
  });
});

describe('a tree that changed', () => {
  test('after a move of the home, of node or of panto only the files with paths are written anew', async () => {
    const tree = copyOfMade();
    const options = { pantoHome: home(), compiler: '/absent/cc' };
    expect(treeIsCurrent(tree)).toBe(false);
    expect((await sync(options)).result.kind).toBe('installed');
    expect(readFileSync(tree.config, 'utf8')).not.toContain(madeHome);
    renameSync(home(), home('moved'));
    const moved = treeAt(home('moved'));
    expect(treeIsCurrent(moved)).toBe(false);
    expect((await sync({ ...options, pantoHome: home('moved') })).result.kind).toBe('installed');
    expect(readFileSync(moved.hostLua, 'utf8')).toContain(`PANTO_HOME='${home('moved')}'`);
    const installation = { ...thisInstallation(), node: '/opt/node 22/bin/node', panto: '/opt/panto/bin/panto' };
    expect(treeIsCurrent(moved, installation)).toBe(false);
    expect((await sync({ ...options, pantoHome: home('moved'), installation })).result.kind).toBe('installed');
    expect(readFileSync(moved.hostLua, 'utf8')).toContain(
      `exec '/opt/node 22/bin/node' '/opt/panto/bin/panto' lua "$@"`,
    );
    expect(treeIsCurrent(moved, installation)).toBe(true);
  });

  test.each([
    ['a missing header', (tree: Tree) => rmSync(join(tree.include, 'lua.h'))],
    ['a changed header', (tree: Tree) => writeFileSync(join(tree.include, 'uv.h'), '')],
    ['a lua that cannot be run', (tree: Tree) => rmSync(tree.hostLua)],
    ['an edited configuration', (tree: Tree) => writeFileSync(tree.config, 'hooks_enabled = true\n')],
  ])('%s is put right without a compiler', async (_name, damage) => {
    const tree = copyOfMade();
    await sync({ pantoHome: home() });
    damage(tree);
    expect(treeIsCurrent(tree)).toBe(false);
    expect((await sync({ pantoHome: home(), compiler: '/absent/cc' })).result.kind).toBe('installed');
    expect(treeIsCurrent(tree)).toBe(true);
    expect(readFileSync(join(tree.include, 'uv.h'))).toEqual(readFileSync(join(made.include, 'uv.h')));
  });

  test.each([
    ['a missing luv', (tree: Tree) => rmSync(tree.luv)],
    ['a cut luv', (tree: Tree) => writeFileSync(tree.luv, madeLuv.subarray(0, 4096))],
    ['a luv exchanged for one of the same size', (tree: Tree) => writeFileSync(tree.luv, Buffer.alloc(madeLuv.length))],
    ['a damaged state', (tree: Tree) => writeFileSync(join(tree.privateDir, 'state.json'), '{"want":')],
  ])('%s is compiled anew', async (_name, damage) => {
    const tree = copyOfMade();
    writeFileSync(join(dir, 'luv.so'), madeLuv);
    const compiler = script('cc', `cp '${join(dir, 'luv.so')}' luv.so`);
    damage(tree);
    expect((await sync({ pantoHome: home(), compiler })).result.kind).toBe('installed');
    expect(readFileSync(tree.luv).equals(madeLuv)).toBe(true);
    expect(treeIsCurrent(tree)).toBe(true);
  });
});

test('the pins of the sources, the batteries and the embedded version agree', () => {
  const read = (file: string) => JSON.parse(readFileSync(join(packageRoot, file), 'utf8')) as unknown;
  const { sources } = read('vendor/pins.json') as { sources: { name: string; version: string }[] };
  const version = (name: string) => sources.find((source) => source.name === name)?.version;
  expect(read('lib/rocks/batteries.json')).toEqual({
    lua: version('lua'),
    luarocks: version('luarocks'),
    rocks: { luv: version('luv') },
  });
  expect(version('lua')).toBe(luaVersion);
  const headers = (name: string) => readFileSync(join(packageRoot, 'dist/tree/include', name), 'utf8');
  expect(headers('lua.h')).toMatch(new RegExp(`#define LUA_VERSION_RELEASE\\s+"${luaVersion.split('.')[2]}"`));
  const [, minor] = version('uv')?.split('.') ?? [];
  expect(headers('uv/version.h')).toContain(`#define UV_VERSION_MINOR ${minor}`);
});
