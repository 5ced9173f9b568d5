// Where everything of one Lua version's tree lies. Pure: nothing here looks at the disk.
import { join } from 'node:path';

/** The Lua that panto embeds; it names the tree, since C rocks for one Lua must not be loaded into another. */
export const luaVersion = '5.4.7';

/** The part of the version that names folders and `_VERSION`. */
export const luaAbi = '5.4';

/** All paths are absolute when `pantoHome` is. */
export interface Tree {
  pantoHome: string;
  root: string;
  /** Headers of Lua and libuv that C rocks are compiled against. */
  include: string;
  /** Lua modules of rocks. */
  luaDir: string;
  /** C modules of rocks. */
  libDir: string;
  luv: string;
  /** A shell script that behaves as an installed `lua` on this tree. */
  hostLua: string;
  /** luarocks' configuration; the name is the only one that it reads. */
  config: string;
  /** What panto keeps for itself: state, lock, logs, temporary files. */
  privateDir: string;
  /** For `package.path`, without Lua's own defaults. */
  luaPath: string;
  /** For `package.cpath`, without Lua's own defaults. */
  luaCpath: string;
}

/** The tree of this panto's Lua version below `pantoHome` (`$PANTO_HOME`). */
export function treeAt(pantoHome: string): Tree {
  const root = join(pantoHome, 'rocks', `lua-${luaVersion}`);
  const luaDir = join(root, 'share/lua', luaAbi);
  const libDir = join(root, 'lib/lua', luaAbi);
  return {
    pantoHome,
    root,
    include: join(root, 'include'),
    luaDir,
    libDir,
    luv: join(libDir, 'luv.so'),
    hostLua: join(root, 'host/bin/lua'),
    config: join(root, `config-${luaAbi}.lua`),
    privateDir: join(root, '.panto'),
    luaPath: `${luaDir}/?.lua;${luaDir}/?/init.lua`,
    luaCpath: `${libDir}/?.so`,
  };
}
