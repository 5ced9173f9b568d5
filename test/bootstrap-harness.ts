// What the bootstrap tests share: a folder each, syncs in processes of their own, and stand-ins for the compiler.
import { type ChildProcess, execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../lib/core/package-root.js';
import { type SyncOptions, type SyncResult, type Tree, treeAt } from '../lib/rocks/index.js';

export const program = join(packageRoot, 'out/test/run-sync.js');
export const isRoot = process.getuid?.() === 0;
// A mount namespace of our own: mounts made in it vanish with the process.
export const namespace = isRoot ? ['unshare', '--mount'] : ['unshare', '--map-root-user', '--mount'];
const canMount =
  spawnSync(namespace[0] ?? '', [...namespace.slice(1), 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
export const testWithMounts = canMount ? test : test.skip;
if (!canMount)
  console.warn('mounting is not permitted here: the tests of a full disk and a read-only mount are skipped');
// Root without the right to overrule permissions is refused as anybody is.
export const asOrdinary = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

export interface Sync {
  result: SyncResult;
  progress: string[];
}

interface Started {
  child: ChildProcess;
  done: Promise<Sync>;
}

/** A folder of the test's own. */
export let dir: string;
const children: ChildProcess[] = [];
let made: string | undefined;
/** Those that outlived a sync that was killed. */
export const compilers: number[] = [];

/** A tree that was synced once, for the tests of one file; those that change one take a copy. */
export async function makeTree(): Promise<{ home: string; tree: Tree; luv: Buffer }> {
  made = mkdtempSync(join(tmpdir(), 'panto-made-'));
  const tree = treeAt(join(made, 'home'));
  const { result } = await sync({ pantoHome: tree.pantoHome });
  expect(result).toEqual({ kind: 'installed', tree });
  return { home: tree.pantoHome, tree, luv: readFileSync(tree.luv) };
}

afterAll(() => {
  if (made) rmSync(made, { recursive: true, force: true });
});

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'panto-bootstrap-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const pid of compilers.splice(0)) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** Starts the sync in a process of its own; `prefix` is a command that runs it. */
export function startSync(options: SyncOptions, { env = {}, prefix = [] as string[] } = {}): Started {
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

export const sync = (options: SyncOptions, how = {}) => startSync(options, how).done;

/** The message of a sync that has to fail, checked to be one line. */
export async function failure(options: SyncOptions, how = {}): Promise<string> {
  const { result } = await sync(options, how);
  if (result.kind !== 'failed') throw new Error(`the sync did not fail but was ${result.kind}`);
  expect(result.message).not.toMatch(/[\n\r]/);
  return result.message;
}

/** A program that stands for the compiler. */
export function script(name: string, body: string): string {
  const file = join(dir, name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return file;
}

export const leftovers = (tree: Tree) =>
  readdirSync(tree.privateDir).filter((name) => !['cache', 'state.json'].includes(name));
export const symbols = (file: string) => execFileSync('nm', ['-D', file], { encoding: 'utf8' });
export const home = (name = 'home') => join(dir, name);

export async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}
