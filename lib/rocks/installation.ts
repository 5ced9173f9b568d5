// The panto that a tree is made for: its executable, the node that runs it, and the parts that it ships for trees.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../core/package-root.js';

/** Absolute paths. */
export interface Installation {
  node: string;
  /** `bin/panto`. */
  panto: string;
  /** `dist/tree`: headers, luv's sources and their manifest. */
  parts: string;
}

/** `manifest.json` of `parts`, written by the build. */
export interface PartsManifest {
  /** Stands for everything below. */
  id: string;
  batteries: { lua: string; luarocks: string; rocks: Record<string, string> };
  /** Path below `include/` to sha256. */
  headers: Record<string, string>;
  /** One sha256 over luv's sources. */
  luvSources: string;
}

/** The running panto. */
export function thisInstallation(): Installation {
  return {
    node: process.execPath,
    panto: join(packageRoot, 'bin/panto'),
    parts: join(packageRoot, 'dist/tree'),
  };
}

/** @throws where the package is incomplete. */
export function readManifest(installation: Installation): PartsManifest {
  return JSON.parse(readFileSync(join(installation.parts, 'manifest.json'), 'utf8')) as PartsManifest;
}
