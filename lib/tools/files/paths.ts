// Paths as a model writes them, and file errors as one line that names the path.
import { expandPath } from '../../core/written-path.js';

/** Absolute path: `~` is the home folder, the rest is relative to `cwd`. */
export function resolvePath(path: string, cwd: string): string {
  if (path === '') throw new Error('path is empty');
  if (path.includes('\0')) throw new Error(`path contains a NUL character: ${JSON.stringify(path)}`);
  return expandPath(path, cwd);
}

/** A file name on one line: names with control characters are quoted as in JSON. */
export function printableName(name: string): string {
  return /[\x00-\x1f\x7f-\x9f]/.test(name) ? JSON.stringify(name) : name;
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EISDIR: 'is a folder',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  ELOOP: 'symbolic links that lead in a circle',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'disk quota exceeded',
  EROFS: 'the file system is read-only',
  ENXIO: 'is a socket or a device, not a file',
  ETXTBSY: 'the program is running and cannot be changed',
};

/** The error of a file operation as one line: `cannot read src/x.ts: permission denied`. Other errors pass unchanged. */
export function fileError(error: unknown, doing: string, path: string): Error {
  const code = errorCode(error);
  if (code === undefined) return error instanceof Error ? error : new Error(String(error));
  return new Error(`cannot ${doing} ${printableName(path)}: ${CAUSES[code] ?? code}`, { cause: error });
}

/** The `code` of a system error ("ENOENT"); undefined for any other value. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error) || !('syscall' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
