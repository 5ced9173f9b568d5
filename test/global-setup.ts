// Once before all suites: a tree with luv that they may read. Compiling it takes seconds; later runs find it current.
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import { syncTree } from '../lib/rocks/index.js';

/** jest calls the default export of its globalSetup. */
export default async function setUp(): Promise<void> {
  const pantoHome = join(packageRoot, '.cache/test-home');
  const result = await syncTree({ pantoHome });
  if (result.kind === 'failed') throw new Error(result.message);
}
