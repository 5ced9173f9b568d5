// The sync of the tree with the real compiler and real processes: what a first start, a second one and an unlucky one do.
import { type ChildProcess, execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../lib/core/package-root.js';
import {
  luaVersion,
  type SyncOptions,
  type SyncResult,
  syncTree,
  type Tree,
  treeAt,
  treeIsCurrent,
} from '../lib/rocks/index.js';
import { thisInstallation } from '../lib/rocks/installation.js';

const program = join(packageRoot, 'out/test/run-sync.js');
const isRoot = process.getuid?.() === 0;
// A mount namespace of our own: mounts made in it vanish with the process.
const namespace = isRoot ? ['unshare', '--mount'] : ['unshare', '--map-root-user', '--mount'];
const canMount =
  spawnSync(namespace[0] ?? '', [...namespace.slice(1), 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
const testWithMounts = canMount ? test : test.skip;
if (!canMount)
  console.warn('mounting is not permitted here: the tests of a full disk and a read-only mount are skipped');
// Root without the right to overrule permissions is refused as anybody is.
const asOrdinary = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

interface Sync {
  result: SyncResult;
  progress: string[];
}

interface Started {
  child: ChildProcess;
  done: Promise<Sync>;
}

let dir: string;
/** A home that was synced once; tests that change one take a copy. */
let madeHome: string;
let made: Tree;
let madeLuv: Buffer;
const children: ChildProcess[] = [];
/** Those that outlived a sync that was killed. */
const compilers: number[] = [];

beforeAll(async () => {
  const base = mkdtempSync(join(tmpdir(), 'panto-made-'));
  madeHome = join(base, 'home');
  made = treeAt(madeHome);
  const first = await startSync({ pantoHome: madeHome }).done;
  expect(first.result).toEqual({ kind: 'installed', tree: made });
  madeLuv = readFileSync(made.luv);
});

afterAll(() => rmSync(join(madeHome, '..'), { recursive: true, force: true }));

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'panto-bootstrap-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const pid of compilers.splice(0)) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** Starts the sync in a process of its own; `prefix` is a command that runs it. */
function startSync(options: SyncOptions, { env = {}, prefix = [] as string[] } = {}): Started {
  const [command = '', ...args] = [...prefix, process.execPath, program, JSON.stringify(options)];
  let child!: ChildProcess;
  const done = new Promise<Sync>((resolve, reject) => {
    child = execFile(command, args, { env: { PATH: process.env.PATH, ...env } }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else resolve(JSON.parse(stdout) as Sync);
    });
  });
  // A test that kills the process does not wait for it.
  done.catch(() => {});
  children.push(child);
  return { child, done };
}

const sync = (options: SyncOptions, how = {}) => startSync(options, how).done;

/** The message of a sync that has to fail, checked to be one line. */
async function failure(options: SyncOptions, how = {}): Promise<string> {
  const { result } = await sync(options, how);
  if (result.kind !== 'failed') throw new Error(`the sync did not fail but was ${result.kind}`);
  expect(result.message).not.toMatch(/[\n\r]/);
  return result.message;
}

/** A program that stands for the compiler. */
function script(name: string, body: string): string {
  const file = join(dir, name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return file;
}

const leftovers = (tree: Tree) =>
  readdirSync(tree.privateDir).filter((name) => !['cache', 'state.json'].includes(name));
const symbols = (file: string) => execFileSync('nm', ['-D', file], { encoding: 'utf8' });
const home = (name = 'home') => join(dir, name);

function copyOfMade(): Tree {
  cpSync(madeHome, home(), { recursive: true });
  return treeAt(home());
}

async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
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

describe('a sync that cannot be done says why in one line', () => {
  test('without a compiler: what to install', async () => {
    const message = await failure({ pantoHome: home() }, { env: { PATH: `${dir}:.` } });
    expect(message).toMatch(/^no C compiler \(cc, gcc, clang\) on the PATH/);
    for (const part of [
      'apt-get install gcc libc6-dev',
      'apk add gcc musl-dev',
      'dnf install',
      'xcode-select --install',
    ]) {
      expect(message).toContain(part);
    }
    expect(leftovers(treeAt(home()))).toEqual([]);
  });

  test('a compiler that fails: its first error and where the whole output is', async () => {
    const compiler = script(
      'cc',
      'echo "In file included from x:" >&2; echo "luv.c:1:2: error: no \u001b[31mluck" >&2; exit 1',
    );
    const message = await failure({ pantoHome: home(), compiler });
    const log = join(treeAt(home()).privateDir, 'luv-build.log');
    expect(message).toBe(`compiling luv with ${compiler} failed: luv.c:1:2: error: no  [31mluck; whole log: ${log}`);
    expect(readFileSync(log, 'utf8')).toContain('In file included from x:');
    // The next run with a good compiler is not hindered.
    expect((await sync({ pantoHome: home() })).result.kind).toBe('installed');
  });

  test('a compiler without the C library’s headers: what to install', async () => {
    const compiler = script('cc', 'echo "lua.h:13:10: fatal error: stdarg.h: No such file or directory" >&2; exit 1');
    const message = await failure({ pantoHome: home(), compiler });
    expect(message).toContain('stdarg.h: No such file or directory; the compiler is incomplete');
    expect(message).toContain('libc6-dev');
  });

  test('a home that is a file', async () => {
    writeFileSync(home('file'), '');
    const message = await failure({ pantoHome: join(home('file'), '.local/share/panto') });
    expect(message).toMatch(/^cannot create /);
    expect(message).toContain(`: ${home('file')} is not a folder; move it away or set PANTO_HOME`);
  });

  test('a home without permission, and whose it is', async () => {
    mkdirSync(home());
    chmodSync(home(), 0o555);
    const message = await failure({ pantoHome: home() }, { prefix: asOrdinary });
    expect(message).toMatch(/^cannot write .*: permission denied; change its permissions or set PANTO_HOME/);
    if (!isRoot) return;
    chownSync(home(), 65534, 65534);
    const foreign = await failure({ pantoHome: home() }, { prefix: asOrdinary });
    expect(foreign).toContain(`permission denied (${home()} belongs to user 65534); run: sudo chown -R 0 '${home()}'`);
    // Never the advice to take over what is not panto's.
    const above = await failure({ pantoHome: join(home(), 'panto') }, { prefix: asOrdinary });
    expect(above).toContain(`permission denied (${home()} belongs to user 65534) or set PANTO_HOME`);
  });

  test.each([';', '?'])('a home with a %s in it, which Lua’s search path cannot hold', async (character) => {
    const message = await failure({ pantoHome: `${home()}${character}x` });
    expect(message).toContain(`because of the "${character}" in it; set PANTO_HOME to another path`);
    expect(existsSync(`${home()}${character}x`)).toBe(false);
  });

  test('an incomplete package', async () => {
    const message = await failure({
      pantoHome: home(),
      installation: { ...thisInstallation(), parts: join(dir, 'absent') },
    });
    expect(message).toMatch(/^this panto is incomplete .*absent\/manifest\.json.*; install it again/);
  });

  // The first is too small for the headers, the second for the compiler's output.
  testWithMounts.each(['64k', '420k'])('a disk of %s that is full', async (size) => {
    mkdirSync(home());
    const mount = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec "$@"';
    const prefix = [...namespace, 'sh', '-c', mount, 'sh', size, home()];
    const message = await failure({ pantoHome: home() }, { prefix });
    expect(message).toMatch(/^cannot write .*: the disk is full; free about 5 MB or set PANTO_HOME/);
  });

  test('an interrupt', async () => {
    const compiler = script('cc', 'exec sleep 1000');
    const abort = new AbortController();
    const result = await syncTree({
      pantoHome: home(),
      compiler,
      signal: abort.signal,
      onProgress: () => abort.abort(),
    });
    expect(result).toMatchObject({ kind: 'failed', message: 'interrupted while compiling luv' });
    expect(leftovers(treeAt(home()))).toEqual([]);
  });
});

describe('syncs that meet or die', () => {
  test('two first starts at once end in one compile', async () => {
    const compiler = script('cc', `echo x >> '${join(dir, 'compiles')}'; exec cc "$@"`);
    const options = { pantoHome: home(), compiler };
    const results = await Promise.all([sync(options), sync(options), sync(options)]);
    expect(results.map(({ result }) => result.kind).sort()).toEqual(['installed', 'ready', 'ready']);
    const waited = results.filter(({ result }) => result.kind === 'ready').flatMap(({ progress }) => progress);
    for (const line of waited) expect(line).toMatch(/^waiting for another panto \(process \d+\) to prepare /);
    expect(readFileSync(join(dir, 'compiles'), 'utf8')).toBe('x\n');
    expect(treeIsCurrent(treeAt(home()))).toBe(true);
    expect(leftovers(treeAt(home()))).toEqual([]);
  });

  test('one that waits takes over when the other is killed while it compiles', async () => {
    const compiler = script('cc', `echo $$ > '${join(dir, 'started')}'; exec sleep 1000`);
    const first = startSync({ pantoHome: home(), compiler });
    await waitFor(() => existsSync(join(dir, 'started')) && statSync(join(dir, 'started')).size > 0);
    const second = startSync({ pantoHome: home() });
    await sleep(500);
    compilers.push(Number(readFileSync(join(dir, 'started'), 'utf8')));
    first.child.kill('SIGKILL');
    const { result, progress } = await second.done;
    expect(result.kind).toBe('installed');
    expect(progress[0]).toContain(`(process ${first.child.pid})`);
    expect(symbols(treeAt(home()).luv)).toMatch(/ T luaopen_luv$/m);
    expect(leftovers(treeAt(home()))).toEqual([]);
  });

  test('a kill at any moment is healed by the next sync', async () => {
    writeFileSync(join(dir, 'luv.so'), madeLuv);
    const compiler = script('cc', `cp '${join(dir, 'luv.so')}' luv.so`);
    const tree = treeAt(home());
    const ends: string[] = [];
    for (let delay = 40; delay <= 280; delay += 15) {
      rmSync(tree.luv, { force: true });
      const started = startSync({ pantoHome: home(), compiler });
      await sleep(delay);
      started.child.kill('SIGKILL');
      ends.push(
        await started.done.then(
          ({ result }) => result.kind,
          () => 'killed',
        ),
      );
      if (ends.at(-1) === 'killed') {
        const { result } = await sync({ pantoHome: home(), compiler });
        expect([delay, result.kind]).toEqual([delay, expect.stringMatching(/^(ready|installed)$/)]);
      }
      expect([delay, treeIsCurrent(tree)]).toEqual([delay, true]);
      expect(createHash('sha256').update(readFileSync(tree.luv)).digest('hex')).toBe(
        createHash('sha256').update(madeLuv).digest('hex'),
      );
    }
    expect(ends).toContain('killed');
    // A kill after the last file leaves a lock and a folder, and the tree is current; who has work to do next removes them.
    expect((await sync({ pantoHome: home(), compiler, force: true })).result.kind).toBe('installed');
    expect(leftovers(tree)).toEqual([]);
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
