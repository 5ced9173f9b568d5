// Writes dist/tree/manifest.json: the pins and the hashes of what a bootstrap puts into a tree. Its `id` stands for all of
// it, so that a start compares one string instead of hashing the files.
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

const sha256 = (data) => createHash('sha256').update(data).digest('hex');

/** @param {string} tree dist/tree, with include/ and luv/src/ filled; @param {string} batteriesFile the pins */
export async function writeTreeManifest(tree, batteriesFile) {
  const manifest = {
    batteries: JSON.parse(await readFile(batteriesFile, 'utf8')),
    headers: await hashesBelow(join(tree, 'include')),
    luvSources: sha256(JSON.stringify(await hashesBelow(join(tree, 'luv/src')))),
  };
  const id = sha256(JSON.stringify(manifest));
  await writeFile(join(tree, 'manifest.json'), `${JSON.stringify({ id, ...manifest }, null, 2)}\n`);
}

/** Relative path (with slashes) to sha256, in bytewise order of the paths. */
async function hashesBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  const names = files
    .map((file) => [relative(folder, file).split(sep).join('/'), file])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(await Promise.all(names.map(async ([name, file]) => [name, sha256(await readFile(file))])));
}
