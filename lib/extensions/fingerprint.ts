// One hash over the content of files and folders, for noticing that a trusted project has changed.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Beyond these a content is not checked, hence not trusted: a `paths` entry may name "/". */
const MAX_FILES = 10_000;
const MAX_BYTES = 256 * 1024 * 1024;

export interface Fingerprint {
  /** SHA-256 over names and contents, hex. */
  readonly digest: string;
  /** How many files each of the given places has, in their order; 0 where there is nothing. */
  readonly counts: readonly number[];
}

/**
 * Reads everything below the places, through symbolic links: what a link points to is what would be loaded. Folders named `.git` are
 * left out. Times and modes do not count.
 * @throws Error with one line if something cannot be read, or is too much to check.
 */
export async function fingerprint(places: readonly string[]): Promise<Fingerprint> {
  const total = createHash('sha256');
  const counts: number[] = [];
  let files = 0;
  let bytes = 0;

  const visit = async (place: number, path: string, name: string, ancestors: readonly string[]): Promise<void> => {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ELOOP') return undefined;
      throw unreadable(path, error);
    });
    if (found?.isDirectory()) {
      const identity = `${found.dev}:${found.ino}`;
      if (ancestors.includes(identity)) return;
      const entries = await readdir(path).catch((error: NodeJS.ErrnoException) => {
        throw unreadable(path, error);
      });
      for (const entry of entries.filter((entry) => entry !== '.git').sort()) {
        await visit(place, join(path, entry), `${name}/${entry}`, [...ancestors, identity]);
      }
      return;
    }
    if (found === undefined && !(await exists(path))) return;
    files += 1;
    bytes += found?.size ?? 0;
    if (files > MAX_FILES) throw new Error(`more than ${MAX_FILES} files, too many to check: ${path}`);
    if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES / 1024 / 1024} MiB, too much to check: ${path}`);
    counts[place]! += 1;
    // A link to nothing and a pipe have no content that could be loaded; that they are there is part of the hash.
    const content = found === undefined ? 'dangling' : found.isFile() ? await hashFile(path) : 'special';
    total.update(`${JSON.stringify([place, name, content])}\n`);
  };

  for (const [place, path] of places.entries()) {
    counts.push(0);
    await visit(place, path, '', []);
  }
  return { digest: total.digest('hex'), counts };
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (error) {
    throw unreadable(path, error as NodeJS.ErrnoException);
  }
  return hash.digest('hex');
}

function unreadable(path: string, error: NodeJS.ErrnoException): Error {
  return new Error(`cannot be read (${error.code ?? error.message}): ${path}`);
}
