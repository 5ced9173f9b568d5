// The tree of rocks and its sync, for everybody above. A start that finds the tree current loads nothing but this and state.ts.
import { type Installation, thisInstallation } from './installation.js';
import { isCurrent } from './state.js';
import { type Tree, treeAt } from './tree.js';

export type { Installation } from './installation.js';
export { luaAbi, luaVersion, type Tree, treeAt } from './tree.js';

export interface SyncOptions {
  /** `$PANTO_HOME`, absolute. */
  pantoHome: string;
  /** Does all of it again, compiling included. */
  force?: boolean;
  /** One line of progress, without an end of line; only called when there is something to wait for. */
  onProgress?: (line: string) => void;
  /** The C compiler's path, instead of the first of cc, gcc and clang on the PATH. `$CC` is not read. */
  compiler?: string;
  /** Ends the wait for the lock and the compiler. */
  signal?: AbortSignal;
  /** The panto that the tree is for; default: the running one. */
  installation?: Installation;
}

export type SyncResult =
  /** Nothing had to be done. */
  | { kind: 'ready'; tree: Tree }
  | { kind: 'installed'; tree: Tree }
  /** `message` is one line: the cause and what to do. The agent runs without Lua then. */
  | { kind: 'failed'; tree: Tree; message: string };

/** The fast path alone: synchronous, well below a millisecond, no process, no network, nothing written. */
export function treeIsCurrent(tree: Tree, installation: Installation = thisInstallation()): boolean {
  return isCurrent(tree, installation);
}

/** Brings the tree to what this panto wants. Never throws; safe to call from several processes at once and to kill at any time. */
export async function syncTree(options: SyncOptions): Promise<SyncResult> {
  const tree = treeAt(options.pantoHome);
  const installation = options.installation ?? thisInstallation();
  if (!options.force && isCurrent(tree, installation)) return { kind: 'ready', tree };
  const { syncSlowly } = await import('./sync.js');
  return await syncSlowly(tree, installation, options);
}
