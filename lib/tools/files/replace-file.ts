// Writes a whole file so that a reader sees the old or the new content, never a half, and keeps what the file is:
// its mode, its owner, its symbolic link, its hard links.
//
// Normally a temporary file in the same folder is written, synced and renamed over the target. Written in place instead
// (truncate and write; a crash in between can lose the content) are: a file with several hard links, because a rename
// would separate them; a file whose owner we may not set; a file in a folder where we may create nothing; and a target
// that cannot be renamed over (a mount point). Node cannot copy ACLs and extended attributes: a rename loses them.
import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { refuseSpecial } from './open-regular.js';
import { errorCode, fileError } from './paths.js';

export interface Replaced {
  /** The file that was written: the end of the links, absolute. */
  readonly target: string;
  readonly created: boolean;
}

const MAX_LINKS = 40;
/** Reasons for which a temporary file is impossible while the target itself may be writable. */
const NO_TEMPORARY = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV', 'ETXTBSY']);

/**
 * Makes `data` the content of `path` (absolute), through links, creating the file and its folders where they are missing.
 * `shown` is the path as the caller wrote it, for errors. Throws one line; the old content is then still there.
 */
export async function replaceFile(path: string, data: Uint8Array, shown: string): Promise<Replaced> {
  try {
    const target = await linkTarget(path);
    const old = await statOrNone(target);
    if (old) {
      refuseSpecial(old, shown);
      await access(target, constants.W_OK);
    } else await mkdir(dirname(target), { recursive: true });
    if (!(old && old.nlink > 1) && (await renameOver(target, old, data))) return { target, created: !old };
    await writeInPlace(target, data);
    return { target, created: !old };
  } catch (error) {
    throw fileError(error, 'write', shown);
  }
}

/** Where `path` leads, also when the last link points to a file that does not exist yet. */
async function linkTarget(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links < MAX_LINKS; links++) {
    try {
      return await realpath(at);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
    const link = await lstat(at).catch(() => undefined);
    if (!link?.isSymbolicLink()) return at;
    at = resolve(await realpath(dirname(at)), await readlink(at));
  }
  return await realpath(path);
}

async function statOrNone(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** False: not possible here, nothing has changed. */
async function renameOver(target: string, old: Stats | undefined, data: Uint8Array): Promise<boolean> {
  const temporary = join(dirname(target), `.panto-${randomBytes(8).toString('hex')}.tmp`);
  let handle: FileHandle | undefined;
  try {
    handle = await open(temporary, 'wx', 0o666);
    if (old) await copyOwnership(handle, old);
    await handle.writeFile(data);
    await handle.sync();
    await handle.close();
    await rename(temporary, target);
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await rm(temporary, { force: true });
    if (old && NO_TEMPORARY.has(errorCode(error) ?? '')) return false;
    throw error;
  }
  await syncFolder(dirname(target));
  return true;
}

/** The owner first: changing it clears the set-id bits of the mode. */
async function copyOwnership(handle: FileHandle, old: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== old.uid || now.gid !== old.gid) await handle.chown(old.uid, old.gid);
  await handle.chmod(old.mode & 0o7777);
}

async function writeInPlace(target: string, data: Uint8Array): Promise<void> {
  const handle = await open(target, 'r+');
  try {
    let at = 0;
    while (at < data.length) at += (await handle.write(data, at, data.length - at, at)).bytesWritten;
    await handle.truncate(data.length);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes the rename itself durable. Not every file system can; the content is safe either way. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    await handle.sync().finally(() => handle.close());
  } catch {}
}
