// Where a search looks, and how paths of its results are written: relative to the working folder, absolute outside of it.
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import { refuseSpecial } from '../files/open-regular.js';
import { fileError, resolvePath } from '../files/paths.js';

export interface SearchTarget {
  /** Absolute. */
  readonly path: string;
  readonly isFolder: boolean;
  /** The argument for ripgrep; paths in its output begin with it. */
  readonly argument: string;
}

/** `given`: as the model wrote it. Throws one line if it does not exist. */
export async function searchTarget(given: string, cwd: string): Promise<SearchTarget> {
  const path = resolvePath(given, cwd);
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch (error) {
    throw fileError(error, 'search', given);
  }
  // Reading a FIFO or a device could block for ever.
  if (!stats.isDirectory()) refuseSpecial(stats, given);
  const fromCwd = relative(cwd, path);
  const outside = fromCwd === '..' || fromCwd.startsWith(`..${sep}`) || isAbsolute(fromCwd);
  return { path, isFolder: stats.isDirectory(), argument: outside ? path : `./${fromCwd}` };
}

/** A path of ripgrep's output as it is shown. */
export function shownPath(found: string): string {
  return found.startsWith('./') ? found.slice(2) : found;
}

/** A path of ripgrep's output relative to the searched folder, for globs. */
export function pathInTarget(found: string, target: SearchTarget): string {
  if (!target.isFolder) return found.slice(found.lastIndexOf('/') + 1);
  const prefix = target.argument.endsWith('/') ? target.argument : `${target.argument}/`;
  return found.startsWith(prefix) ? found.slice(prefix.length) : found;
}
