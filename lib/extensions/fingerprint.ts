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

/** Something below a place that is no folder; a link to nothing and a pipe have no content that could be loaded. */
interface Leaf {
  readonly place: number;
  /** Relative to the place; empty for the place itself. */
  readonly name: string;
  readonly path: string;
  readonly kind: 'file' | 'dangling' | 'special';
}

/**
 * Reads everything below the places, through symbolic links: what a link points to is what would be loaded. Folders named `.git` are
 * left out. Times and modes do not count.
 * @throws Error with one line if something cannot be read, or is too much to check.
 */
export async function fingerprint(places: readonly string[]): Promise<Fingerprint> {
  const leaves: Leaf[] = [];
  for (const [place, path] of places.entries()) await collect({ place, name: '', path }, [], leaves);
  const total = createHash('sha256');
  const counts = places.map(() => 0);
  const budget = { bytes: MAX_BYTES };
  for (const { place, name, path, kind } of leaves) {
    counts[place]! += 1;
    const content = kind === 'file' ? await hashFile(path, budget) : kind;
    total.update(`${JSON.stringify([place, name, content])}\n`);
  }
  return { digest: total.digest('hex'), counts };
}

/** Adds the leaves at and below `at`, by name. @param ancestors identities of the folders above, which a link may lead back to. */
async function collect(at: Omit<Leaf, 'kind'>, ancestors: readonly string[], leaves: Leaf[]): Promise<void> {
  const { path, name } = at;
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
      const inner = { ...at, name: `${name}/${entry}`, path: join(path, entry) };
      await collect(inner, [...ancestors, identity], leaves);
    }
  } else if (found !== undefined) {
    leaves.push({ ...at, kind: found.isFile() ? 'file' : 'special' });
  } else if (await exists(path)) {
    leaves.push({ ...at, kind: 'dangling' });
  }
  if (leaves.length > MAX_FILES) throw new Error(`more than ${MAX_FILES} files, too many to check: ${path}`);
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** @param budget how many bytes may still be read; counted as read, since the size that a file system gives need not be true. */
async function hashFile(path: string, budget: { bytes: number }): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      budget.bytes -= chunk.length;
      if (budget.bytes < 0) break;
      hash.update(chunk);
    }
  } catch (error) {
    throw unreadable(path, error as NodeJS.ErrnoException);
  }
  if (budget.bytes < 0) throw new Error(`more than ${MAX_BYTES / 1024 / 1024} MiB, too much to check: ${path}`);
  return hash.digest('hex');
}

function unreadable(path: string, error: NodeJS.ErrnoException): Error {
  return new Error(`cannot be read (${error.code ?? error.message}): ${path}`);
}
