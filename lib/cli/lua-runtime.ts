// Starts the Lua runtime of a session, with the session's tree, folder and log.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { pantoPaths } from '../config/paths.js';
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
  readonly env: NodeJS.ProcessEnv;
  readonly limits: Config['lua'];
}

/** The log of what extensions print; empty where there can be none: then nobody reads it. */
export function extensionLog(env: NodeJS.ProcessEnv): string {
  try {
    const { logDir } = pantoPaths(env);
    mkdirSync(logDir, { recursive: true, mode: 0o700 });
    return join(logDir, 'extensions.log');
  } catch {
    return '';
  }
}

/** @throws Error with one line where Lua does not start */
export function startLua({ tree, cwd, env, limits }: LuaStart): Promise<SessionLua> {
  return LuaRuntime.start({
    luaDir: join(packageRoot, 'lua'),
    luaPath: tree.luaPath,
    luaCpath: tree.luaCpath,
    luvFile: tree.luv,
    logFile: extensionLog(env),
    cwd,
    limits,
  });
}
