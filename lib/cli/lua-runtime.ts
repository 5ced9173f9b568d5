// What the command line needs of the Lua runtime, and the one place that starts it.
import type { Config } from '../config/config.js';
import type { ToolSource } from '../core/types.js';
import type { ExtensionHost } from '../extensions/load.js';
import type { Tree } from '../rocks/index.js';

export type LuaEvent =
  | { readonly type: 'notify'; readonly level: string; readonly text: string; readonly extension: string }
  /** `message` is one line that names extension, file and line. */
  | { readonly type: 'problem'; readonly message: string; readonly traceback?: string }
  | { readonly type: 'log'; readonly level: string; readonly text: string; readonly extension: string };

/** One `lua_State` with every Lua extension of the session in it. */
export interface LuaRuntime extends ExtensionHost {
  /** "panto-lua" */
  readonly source: ToolSource;
  commands(): readonly { name: string; description: string; extension: string }[];
  /** The text to show, if the command returned one. */
  runCommand(name: string, args: string, signal?: AbortSignal): Promise<string | undefined>;
  on(listener: (event: LuaEvent) => void): () => void;
  dispose(): Promise<void>;
}

export interface LuaStart {
  readonly tree: Tree;
  readonly cwd: string;
  readonly config: Config['lua'];
}

/** Starts Lua; undefined where this panto has none. */
export async function startLua(_start: LuaStart): Promise<LuaRuntime | undefined> {
  return undefined;
}
