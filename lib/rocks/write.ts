// How anything gets into a tree: written under a temporary name in `.panto/`, then renamed into place.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Tree } from './tree.js';

/** Names in `.panto/` that whoever holds the lock may remove. */
export const temporaryPrefix = 'tmp-';

export interface FileToWrite {
  /** Absolute, inside the tree. */
  path: string;
  content: Buffer;
  /** Permission bits; the umask does not narrow them. */
  mode: number;
}

/**
 * Creates a folder and those above it. Not through mkdir's own `recursive`: on a read-only file system that says ENOENT.
 * @throws as the file system does; ENOTDIR where a file is in the way
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !existsSync(dirname(path))) {
      makeFolder(dirname(path));
      makeFolder(path);
    } else if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw error;
    }
  }
}

/** @throws as the file system does. */
export function writeAtomically(tree: Tree, { path, content, mode }: FileToWrite): void {
  makeFolder(dirname(path));
  const temporary = join(tree.privateDir, `${temporaryPrefix}file-${process.pid}`);
  try {
    writeFileSync(temporary, content);
    chmodSync(temporary, mode);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** A new empty folder in `.panto/`. */
export function temporaryFolder(tree: Tree): string {
  return mkdtempSync(join(tree.privateDir, temporaryPrefix));
}

/** Those of this run and of runs that were killed; call it with the lock held. */
export function removeTemporaries(tree: Tree): void {
  for (const name of readdirSync(tree.privateDir)) {
    if (name.startsWith(temporaryPrefix)) rmSync(join(tree.privateDir, name), { recursive: true, force: true });
  }
}
