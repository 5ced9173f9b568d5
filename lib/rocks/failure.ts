// What a user reads when a tree cannot be made: one line with the cause, the place and what to do about it.
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Tree } from './tree.js';

/** Its message is already that one line. */
export class SyncFailure extends Error {}

export const compilerAdvice =
  'install one (Debian, Ubuntu: apt-get install gcc libc6-dev; Alpine: apk add gcc musl-dev; ' +
  'Fedora: dnf install gcc; macOS: xcode-select --install), then run: panto bootstrap';

/** Anything thrown during a sync, as one line. */
export function lineFor(error: unknown, tree: Tree): string {
  if (error instanceof SyncFailure) return error.message;
  const { code, path, message } = error as NodeJS.ErrnoException;
  const place = path ?? tree.root;
  const elsewhere = 'or set PANTO_HOME to a folder that can be written';
  switch (code) {
    case 'EROFS':
      return `cannot write ${place}: the file system is read-only; make it writable ${elsewhere}`;
    case 'EACCES':
    case 'EPERM':
      return `cannot write ${place}: permission denied${ownerNote(place, tree)} ${elsewhere}`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `cannot write ${place}: ${code === 'ENOSPC' ? 'the disk is full' : 'the disk quota is used up'}; free about 5 MB ${elsewhere}`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `cannot create ${place}: ${fileOnTheWay(place)} is not a folder; move it away ${elsewhere}`;
    default:
      return `cannot prepare ${tree.root}: ${(message ?? String(error)).split('\n')[0]}`;
  }
}

/** A tree that was made under sudo belongs to root; the fix then is another one. */
function ownerNote(place: string, tree: Tree): string {
  const owned = nearest(place);
  const uid = process.getuid?.();
  if (owned === undefined || uid === undefined || owned.uid === uid) return '; change its permissions';
  const note = ` (${owned.path} belongs to user ${owned.uid})`;
  return `${owned.path}/`.startsWith(`${tree.pantoHome}/`)
    ? `${note}; run: sudo chown -R ${uid} '${tree.pantoHome}'`
    : note;
}

function fileOnTheWay(place: string): string {
  const found = nearest(place);
  return found && !found.isDirectory ? found.path : place;
}

/** The path itself or its nearest ancestor that can be looked at. */
function nearest(place: string): { path: string; uid: number; isDirectory: boolean } | undefined {
  for (let path = place; ; path = dirname(path)) {
    try {
      const stats = lstatSync(path);
      return { path, uid: stats.uid, isDirectory: stats.isDirectory() };
    } catch {
      if (dirname(path) === path) return undefined;
    }
  }
}
