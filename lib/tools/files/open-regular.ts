// Opens regular files only. A FIFO, a device or a socket could block for ever or answer without end.
import type { Stats } from 'node:fs';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { fileError, printableName } from './paths.js';

/**
 * Opens `path` (absolute; links are followed) for reading. `shown` is the path as the caller wrote it, for errors.
 * O_NONBLOCK: opening a FIFO without a writer must not wait. The caller closes the handle.
 */
export async function openRegular(path: string, shown: string): Promise<{ handle: FileHandle; stats: Stats }> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    refuseSpecial(stats, shown);
    return { handle, stats };
  } catch (error) {
    await handle?.close();
    throw fileError(error, 'read', shown);
  }
}

/** Throws one line for everything that is not a regular file. */
export function refuseSpecial(stats: Stats, shown: string): void {
  const name = printableName(shown);
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new Error(`${name} is a folder, not a file: use ls to see what is in it`);
  throw new Error(`${name} is ${specialKind(stats)}, not a regular file`);
}

function specialKind(stats: Stats): string {
  if (stats.isFIFO()) return 'a named pipe (FIFO)';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}
