// What a tree has to hold for this panto, and whether it does, by content.
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { luvFlags } from './compiler.js';
import { SyncFailure } from './failure.js';
import { configText, hostLuaText } from './host-files.js';
import { type Installation, type PartsManifest, readManifest } from './installation.js';
import { readState, wantOf } from './state.js';
import { luaVersion, type Tree } from './tree.js';
import type { FileToWrite } from './write.js';

export interface Wanted {
  /** For the state; see `wantOf`. */
  want: string;
  headers: FileToWrite[];
  /** The wrapper and luarocks' configuration, which name paths of this machine. */
  hostFiles: FileToWrite[];
  luvVersion: string;
  /** luv's sources. */
  luvSources: string;
  /** All that luv.so is made from; another key means that it has to be compiled. */
  luvKey: string;
}

/** @throws SyncFailure where the package is incomplete. */
export function wantedOf(tree: Tree, installation: Installation): Wanted {
  const manifest = completeManifest(installation);
  const headers = Object.keys(manifest.headers).map((name) => ({
    path: join(tree.include, name),
    content: readFileSync(join(installation.parts, 'include', name)),
    mode: 0o644,
  }));
  const hostFiles = [
    { path: tree.hostLua, content: Buffer.from(hostLuaText(tree, installation)), mode: 0o755 },
    { path: tree.config, content: Buffer.from(configText(tree, manifest)), mode: 0o644 },
  ];
  const luvParts = [manifest.luvSources, manifest.headers, luvFlags, process.platform, process.arch];
  return {
    want: wantOf(tree, installation, manifest),
    headers,
    hostFiles,
    luvVersion: manifest.batteries.rocks.luv ?? '',
    luvSources: join(installation.parts, 'luv/src'),
    luvKey: sha256(JSON.stringify(luvParts)),
  };
}

function completeManifest(installation: Installation): PartsManifest {
  let manifest: PartsManifest;
  try {
    manifest = readManifest(installation);
  } catch (error) {
    const cause = (error as Error).message;
    throw new SyncFailure(`this panto is incomplete (${cause}); install it again, or in a clone run: npm run build`);
  }
  const { lua } = manifest.batteries;
  if (lua === luaVersion) return manifest;
  throw new SyncFailure(
    `this panto is inconsistent: it embeds Lua ${luaVersion} and ships headers of Lua ${lua}; install it again`,
  );
}

export function isThere({ path, content, mode }: FileToWrite): boolean {
  try {
    return readFileSync(path).equals(content) && (statSync(path).mode & mode & 0o111) === (mode & 0o111);
  } catch {
    return false;
  }
}

/** A luv.so that somebody exchanged counts as absent. */
export function hasLuv(tree: Tree, { luvKey }: Wanted): boolean {
  try {
    const recorded = readState(tree)?.luv;
    return recorded?.key === luvKey && recorded.sha256 === sha256(readFileSync(tree.luv));
  } catch {
    return false;
  }
}

/** All that running Lua needs; the host files serve luarocks and scripts only. */
export function hasCore(tree: Tree, wanted: Wanted): boolean {
  return wanted.headers.every(isThere) && hasLuv(tree, wanted);
}

export function hasAll(tree: Tree, wanted: Wanted): boolean {
  return hasCore(tree, wanted) && wanted.hostFiles.every(isThere);
}

export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
