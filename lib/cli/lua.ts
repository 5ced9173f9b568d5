// `panto lua`: upstream's stand-alone interpreter with the tree on its path. The fast path of the executable: nothing here may
// touch process.stdin, stdout or stderr before lua.c has them (Node would make them non-blocking), except to say that it failed.
import { writeSync } from 'node:fs';
import { dataFolder } from '../config/paths.js';
import { loadAddon } from '../lua/addon.js';
import { syncTree, type Tree, treeAt, treeIsCurrent } from '../rocks/index.js';

function say(line: string): void {
  writeSync(2, `panto: ${line}\n`);
}

/** The tree, brought up to date; undefined where there can be none (no home). The interpreter runs without it all the same. */
async function currentTree(): Promise<Tree | undefined> {
  let tree: Tree;
  try {
    tree = treeAt(dataFolder(process.env));
  } catch (error) {
    say((error as Error).message);
    return undefined;
  }
  // Set for every interpreter below a sync: whoever holds the tree's lock must not be waited for by its own children.
  if (process.env.PANTO_NO_SYNC || treeIsCurrent(tree)) return tree;
  const result = await syncTree({ pantoHome: tree.pantoHome, onProgress: say });
  if (result.kind === 'failed') say(result.message);
  return tree;
}

/**
 * Runs lua.c's main with `args` and ends the process with its status. The interpreter calls itself by the name in
 * PANTO_LUA_ARGV0, which the tree's host/bin/lua sets, else `lua`.
 */
export async function runLua(args: readonly string[]): Promise<never> {
  const tree = await currentTree();
  const name = process.env.PANTO_LUA_ARGV0 || 'lua';
  // Ours alone: what the script starts is its own business.
  delete process.env.PANTO_LUA_ARGV0;
  const [path, cpath] = tree === undefined ? [null, null] : [tree.luaPath, tree.luaCpath];
  try {
    return loadAddon().runLua([name, ...args], path, cpath);
  } catch (error) {
    say((error as Error).message);
    process.exit(1);
  }
}
