// Timing whole processes, with a home of their own that is removed at the end.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import prepareTree from '../test/global-setup.js';
import { testTree } from '../test/lua-support.js';

export const panto = join(packageRoot, 'bin/panto');

export interface Home {
  readonly dir: string;
  /** Where the process runs: an empty folder. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs `work` with a tree that is current and an environment without anything of the user's. */
export async function withHome<T>(work: (home: Home) => Promise<T>): Promise<T> {
  await prepareTree();
  const dir = mkdtempSync(join(tmpdir(), 'panto-bench-'));
  try {
    const cwd = join(dir, 'project');
    mkdirSync(cwd);
    return await work({ dir, cwd, env: { PATH: process.env.PATH ?? '', HOME: dir, PANTO_HOME: testTree.pantoHome } });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Milliseconds from the start of `node ...args` to its end. Throws when it fails or complains. */
export function timeNode(home: Home, args: readonly string[]): number {
  const begin = performance.now();
  const { status, stderr, error } = spawnSync(process.execPath, [...args], {
    cwd: home.cwd,
    env: home.env,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  const taken = performance.now() - begin;
  if (status !== 0 || stderr !== '') {
    throw new Error(`node ${args.join(' ')}: status ${status}: ${error?.message ?? stderr.trim()}`);
  }
  return taken;
}

/** The reference of everything that starts a process. */
export const emptyNode = ['-e', '0'] as const;
