// Starts the Lua runtime of a session, with the session's tree, folder and log.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import type { PantoPaths } from '../config/paths.js';
import { packageRoot } from '../core/package-root.js';
import { LuaRuntime } from '../lua/runtime.js';
import type { Tree } from '../rocks/index.js';

/** What a session needs of the runtime. */
export type SessionLua = Pick<
  LuaRuntime,
  'source' | 'useLocks' | 'evaluate' | 'activate' | 'drop' | 'commands' | 'runCommand' | 'on' | 'dispose'
>;

export interface LuaStart {
  readonly tree: Tree;
  readonly cwd: string;
  readonly paths: PantoPaths;
  readonly limits: Config['lua'];
}

/** The log of what extensions print; empty where it cannot be written: then nobody reads it. */
function extensionLog({ logDir }: PantoPaths): string {
  try {
    mkdirSync(logDir, { recursive: true, mode: 0o700 });
    return join(logDir, 'extensions.log');
  } catch {
    return '';
  }
}

/** @throws Error with one line where Lua does not start */
export function startLua({ tree, cwd, paths, limits }: LuaStart): Promise<SessionLua> {
  return LuaRuntime.start({
    luaDir: join(packageRoot, 'lua'),
    luaPath: tree.luaPath,
    luaCpath: tree.luaCpath,
    luvFile: tree.luv,
    logFile: extensionLog(paths),
    cwd,
    limits,
  });
}
