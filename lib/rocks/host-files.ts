// The text of the two files that tie a tree to a panto: the `lua` that luarocks and scripts run, and luarocks' configuration.
import { join } from 'node:path';
import type { Installation, PartsManifest } from './installation.js';
import { luaAbi, type Tree } from './tree.js';

/**
 * `host/bin/lua`. It names its own home, so that it uses this tree in any environment; below it nothing syncs, since the lock may be
 * held by the process that started it.
 */
export function hostLuaText(tree: Tree, { node, panto }: Installation): string {
  return `#!/bin/sh
# Written by panto: Lua ${luaAbi} on this tree.
export PANTO_LUA_ARGV0="$0"
export PANTO_NO_SYNC=1
export PANTO_HOME=${quoteForShell(tree.pantoHome)}
exec ${quoteForShell(node)} ${quoteForShell(panto)} lua "$@"
`;
}

/** `config-5.4.lua`. luarocks reads no other name, and only where it is told to look at the tree. */
export function configText(tree: Tree, { batteries }: PartsManifest): string {
  const host = join(tree.root, 'host');
  const provided = Object.entries(batteries.rocks).map(
    ([name, version]) => `[${quoteForLua(name)}] = ${quoteForLua(version)}`,
  );
  return `-- Written by panto; changes are overwritten.
rocks_trees = { { name = "panto", root = ${quoteForLua(tree.root)} } }
rocks_servers = { "https://luarocks.org" }
local_by_default = false
deps_mode = "one"
-- Rockspecs that run commands of their own are refused.
hooks_enabled = false
accepted_build_types = { "builtin", "make", "cmake", "none" }
-- luarocks' own default does not check them.
check_certificates = true
connection_timeout = 10
local_cache = ${quoteForLua(join(tree.privateDir, 'cache'))}
keep_other_versions = false
-- panto pins these; no rock may bring another version.
rocks_provided = { ${provided.join(', ')} }
variables = {
  LUA = ${quoteForLua(tree.hostLua)},
  LUA_DIR = ${quoteForLua(host)},
  LUA_BINDIR = ${quoteForLua(join(host, 'bin'))},
  LUA_INCDIR = ${quoteForLua(tree.include)},
  CFLAGS = "-O2 -fPIC",
  -- wget is preferred where there is one, and busybox's lacks the options that luarocks gives it.
  WGET = "/nonexistent/wget",
  CURL = "curl --max-time 120 --proto =https,http,file",
}
`;
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function quoteForLua(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}
