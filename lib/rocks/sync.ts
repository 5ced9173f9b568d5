// The slow path of the sync: makes good what the tree lacks. Every file is renamed into place and the state comes last, so a kill at
// any moment leaves a tree that the next run completes.
import { readFileSync, renameSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { compileLuv, findCompiler } from './compiler.js';
import { lineFor, SyncFailure } from './failure.js';
import type { SyncOptions, SyncResult } from './index.js';
import type { Installation } from './installation.js';
import { acquireLock } from './lock.js';
import { stampOf, stateFile, type TreeState } from './state.js';
import { luaAbi, type Tree } from './tree.js';
import { hasAll, hasCore, hasLuv, isThere, sha256, type Wanted, wantedOf } from './wanted.js';
import { makeFolder, removeTemporaries, temporaryFolder, writeAtomically } from './write.js';

/** Never throws: here exceptions become results. */
export async function syncSlowly(tree: Tree, installation: Installation, options: SyncOptions): Promise<SyncResult> {
  let wanted: Wanted | undefined;
  try {
    refuseUnusablePath(tree);
    wanted = wantedOf(tree, installation);
    if (!options.force && hasAll(tree, wanted)) return refreshState(tree, wanted);
    return await completeUnderLock(tree, wanted, options);
  } catch (error) {
    const message = lineFor(error, tree);
    if (options.force || !wanted || !hasCore(tree, wanted)) return { kind: 'failed', tree, message };
    // A tree that cannot be written, used by another node or panto than it was made with.
    options.onProgress?.(`${tree.hostLua} still belongs to another panto or node: ${message}`);
    return { kind: 'ready', tree };
  }
}

/** Lua's search paths and the lines of our own files have no way to quote these. */
function refuseUnusablePath({ pantoHome }: Tree): void {
  if (!isAbsolute(pantoHome)) throw new SyncFailure(`PANTO_HOME has to be an absolute path, not '${pantoHome}'`);
  const bad = /[;?\n\r]/.exec(pantoHome)?.[0];
  if (!bad) return;
  const [character, path] = [bad, pantoHome].map((text) => JSON.stringify(text));
  throw new SyncFailure(
    `Lua cannot search below ${path} because of the ${character} in it; set PANTO_HOME to another path`,
  );
}

async function completeUnderLock(tree: Tree, wanted: Wanted, options: SyncOptions): Promise<SyncResult> {
  const { force = false, onProgress = () => {}, signal } = options;
  makeFolder(tree.privateDir);
  const waiting = (pid: number | undefined) =>
    `waiting for another panto${pid ? ` (process ${pid})` : ''} to prepare ${tree.root}`;
  const release = await acquireLock(join(tree.privateDir, 'lock'), (pid) => onProgress(waiting(pid)), signal);
  try {
    // Whoever had the lock before may have done it all.
    if (!force && hasAll(tree, wanted)) return refreshState(tree, wanted);
    removeTemporaries(tree);
    try {
      await complete(tree, wanted, options);
    } finally {
      removeTemporaries(tree);
    }
    return { kind: 'installed', tree };
  } finally {
    release();
  }
}

async function complete(tree: Tree, wanted: Wanted, options: SyncOptions): Promise<void> {
  const { force = false, onProgress = () => {}, signal } = options;
  // Without a compiler nothing else is of use, so it is looked for first.
  const compiler = force || !hasLuv(tree, wanted) ? (options.compiler ?? findCompiler()) : undefined;
  const rocks = join(tree.root, 'lib/luarocks', `rocks-${luaAbi}`);
  for (const dir of [tree.luaDir, tree.libDir, rocks, join(tree.privateDir, 'cache')]) makeFolder(dir);
  for (const file of [...wanted.headers, ...wanted.hostFiles]) {
    if (force || !isThere(file)) writeAtomically(tree, file);
  }
  if (compiler) {
    onProgress(`compiling luv ${wanted.luvVersion} with ${compiler}`);
    const built = await compileLuv(compiler, tree, wanted.luvSources, temporaryFolder(tree), signal);
    renameSync(built, tree.luv);
  }
  saveState(tree, wanted);
}

function saveState(tree: Tree, { want, headers, hostFiles, luvKey }: Wanted): void {
  const paths = [...headers.map(({ path }) => path), ...hostFiles.map(({ path }) => path), tree.luv];
  const state: TreeState = {
    want,
    files: Object.fromEntries(paths.map((path) => [relative(tree.root, path), stampOf(path)])),
    luv: { key: luvKey, sha256: sha256(readFileSync(tree.luv)) },
  };
  writeAtomically(tree, { path: stateFile(tree), content: Buffer.from(`${JSON.stringify(state)}\n`), mode: 0o644 });
}

/** A tree from an archive or an image has all contents and other times. Where the state cannot be written, the next start looks again. */
function refreshState(tree: Tree, wanted: Wanted): SyncResult {
  try {
    saveState(tree, wanted);
  } catch {}
  return { kind: 'ready', tree };
}
