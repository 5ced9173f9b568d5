// Paths as a model writes them into a call's input.
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Absolute path: `~` is the home folder, the rest is relative to `cwd`. */
export function expandPath(path: string, cwd: string): string {
  if (path === '~') return homedir();
  if (path.startsWith('~/')) return join(homedir(), path.slice(2));
  return resolve(cwd, path);
}
