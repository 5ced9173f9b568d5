// A sync that cannot be done says why and what to do, in one line.
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { syncTree, treeAt } from '../lib/rocks/index.js';
import { thisInstallation } from '../lib/rocks/installation.js';
import {
  asOrdinary,
  compilers,
  dir,
  failure,
  home,
  isRoot,
  leftovers,
  namespace,
  script,
  sync,
  testWithMounts,
  waitFor,
} from './bootstrap-harness.js';

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

  test('an interrupt, without a wait for what the compiler has started', async () => {
    const part = join(dir, 'part');
    const compiler = script('cc', `sleep 1000 & echo $! > '${part}'; wait`);
    const abort = new AbortController();
    const syncing = syncTree({ pantoHome: home(), compiler, signal: abort.signal });
    await waitFor(() => existsSync(part) && statSync(part).size > 0);
    compilers.push(Number(readFileSync(part, 'utf8')));
    abort.abort();
    expect(await syncing).toMatchObject({ kind: 'failed', message: 'interrupted while compiling luv' });
    expect(leftovers(treeAt(home()))).toEqual([]);
  });
});
