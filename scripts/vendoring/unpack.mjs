// Unpacks a verified archive aside and renames it into place, so that a source folder is either whole or absent.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
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
import { isInPlace } from './in-place.mjs';

/**
 * Puts `source` into `dir/<name>`, replacing what is there.
 * @param content the archive's bytes, or for the format "folder" the path of that folder
 * @param from the address that the content came from; it is recorded in .origin.json
 * @throws with one line that names the source
 */
export function place(dir, source, origin, content, from) {
  const staging = mkdtempSync(join(dir, `.staging-${process.pid}-`));
  try {
    const unpacked = origin.format === 'folder' ? content : unpack(staging, origin.format, content);
    const ready = join(staging, 'ready');
    for (const [part, target] of Object.entries(origin.take)) copyResolved(join(unpacked, part), join(ready, target));
    const absent = source.needs.find((file) => !existsSync(join(ready, file)));
    if (absent) throw new Error(`${absent} is not in it`);
    const record = { version: source.version, from, sha256: origin.sha256 };
    writeFileSync(join(ready, '.origin.json'), `${JSON.stringify(record, null, 2)}\n`);
    const target = join(dir, source.name);
    // Another run may have been faster; what it put there is in use by now.
    if (isInPlace(target, source)) return;
    renameIfPresent(target, join(staging, 'old'));
    renameUnlessTaken(ready, target);
  } catch (error) {
    throw new Error(`${source.name} ${source.version} from ${from}: ${error.message.trim().split('\n')[0]}`);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Returns the folder whose content is the archive's; the one top folder that source archives have is left out. */
function unpack(staging, format, content) {
  const archive = join(staging, 'archive');
  const folder = join(staging, 'unpacked');
  mkdirSync(folder);
  writeFileSync(archive, format === 'deb' ? dataOfDeb(content) : content);
  // As root tar would keep the archive's owners. The .deb's member is read as what its bytes say it is.
  execTar(['-xf', archive, '-C', folder, '--no-same-owner']);
  const [top, ...others] = readdirSync(folder);
  return format !== 'deb' && top !== undefined && others.length === 0 ? join(folder, top) : folder;
}

function execTar(args) {
  try {
    execFileSync('tar', args, { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH, LC_ALL: 'C' } });
  } catch (error) {
    const said = String(error.stderr ?? error.message);
    throw new Error(/xz: Cannot exec/.test(said) ? 'tar needs xz for this archive; install xz-utils' : said);
  }
}

/** deb(5): an ar archive whose member data.tar.* holds the files; ar's header is 60 bytes, members begin at even offsets. */
function dataOfDeb(deb) {
  for (let offset = '!<arch>\n'.length; offset + 60 <= deb.length; ) {
    const name = deb.toString('latin1', offset, offset + 16);
    const size = Number(deb.toString('latin1', offset + 48, offset + 58));
    if (name.startsWith('data.tar')) return deb.subarray(offset + 60, offset + 60 + size);
    offset += 60 + size + (size % 2);
  }
  throw new Error('no data.tar in the .deb');
}

/** Copies a file or a folder; symbolic links become what they point to. */
function copyResolved(from, to) {
  if (!statSync(from).isDirectory()) {
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to);
    return;
  }
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) copyResolved(join(from, name), join(to, name));
}

function renameUnlessTaken(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  }
}

function renameIfPresent(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}
