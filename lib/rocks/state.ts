// `.panto/state.json`: what the last sync made the tree for, and the size and time of each file that it wrote. Every start reads
// it, so this file imports nothing heavy and hashes nothing.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Installation, type PartsManifest, readManifest } from './installation.js';
import type { Tree } from './tree.js';

export interface TreeState {
  /** Equal to `wantOf` of the running panto when the tree was made for it. */
  want: string;
  /** Path below the root to its size in bytes and its time in whole seconds (archives and images drop the fraction). */
  files: Record<string, [size: number, seconds: number]>;
  /** From what luv.so was built, and its sha256. */
  luv: { key: string; sha256: string };
}

export function stateFile(tree: Tree): string {
  return join(tree.privateDir, 'state.json');
}

/** All that a tree depends on, as one string to compare. A moved home, node or panto changes it. */
export function wantOf(tree: Tree, installation: Installation, manifest: PartsManifest): string {
  const { node, panto } = installation;
  return JSON.stringify({ schema: 1, id: manifest.id, root: tree.root, node, panto, arch: process.arch });
}

/** Undefined where there is none or it is damaged. */
export function readState(tree: Tree): TreeState | undefined {
  try {
    return JSON.parse(readFileSync(stateFile(tree), 'utf8')) as TreeState;
  } catch {
    return undefined;
  }
}

/** @throws where the file is absent or cannot be reached. */
export function stampOf(file: string): [size: number, seconds: number] {
  const { size, mtimeMs } = statSync(file);
  return [size, Math.floor(mtimeMs / 1000)];
}

/**
 * Whether the tree is as this installation's last sync left it. About a tenth of a millisecond a dozen files; starts no process,
 * opens no connection, writes nothing.
 */
export function isCurrent(tree: Tree, installation: Installation): boolean {
  try {
    const state = readState(tree);
    if (state?.want !== wantOf(tree, installation, readManifest(installation))) return false;
    const files = Object.entries(state.files);
    return files.length > 0 && files.every(([name, stamp]) => `${stampOf(join(tree.root, name))}` === `${stamp}`);
  } catch {
    return false;
  }
}
