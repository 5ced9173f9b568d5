// Loads the native addon. The only place that knows where it lies and what it exports.
import { createRequire } from 'node:module';
import { packageRoot } from '../core/package-root.js';
import { describeLoadFailure } from './load-failure.js';

/** The kinds of event that `NativeRuntime.drain` returns; native/core/messages.h has the same list. */
export const EventKind = {
  ready: 0,
  bootFailed: 1,
  started: 2,
  update: 3,
  settledText: 4,
  settledJson: 5,
  settledError: 6,
  post: 7,
  problem: 8,
} as const;

export interface NativeOptions {
  readonly luaDir: string;
  readonly modulePath: string;
  readonly moduleCpath: string;
  readonly luvFile: string;
  readonly logFile: string;
  readonly session: string;
  readonly cwd: string;
  readonly clockOriginMs: number;
  readonly timeOriginMs: number;
  /** How long Lua code may run without yielding. */
  readonly holdLimitMs: number;
  /** From a soft stop to the hard one. */
  readonly graceMs: number;
}

/** The JS face of the Lua thread; native/binding/runtime_object.cc. */
export interface NativeRuntime {
  /** `tools`, `ids` and `inputs` are joined by NUL, one part a call; tokens count up from the first. */
  invokeBatch(
    firstToken: number,
    serial: boolean,
    tools: string,
    ids: string,
    inputs: string,
    deadlines: Float64Array,
  ): void;
  control(token: number, owner: number, name: string, args: string): void;
  cancel(token: number, isTimeout: boolean): void;
  /** Six elements an event: kind, token, name, body, startedMs, endedMs. */
  drain(): (number | string)[];
  /** Whether open calls keep the process alive. */
  keepAlive(alive: boolean): void;
  /** Ends the Lua thread; false when it did not end within the limit (it is then left behind). */
  shutdown(limitMs: number): boolean;
}

export interface Addon {
  readonly Runtime: new (options: NativeOptions, onWake: () => void) => NativeRuntime;
  /** Upstream lua.c's main on this thread; ends the process. `path` and `cpath` go before package.path and package.cpath. */
  runLua(argv: readonly string[], path: string | null, cpath: string | null): never;
  /** Milliseconds of libuv's clock. */
  hrtime(): number;
  /** Descriptor `fd` becomes `file`, which is appended to; returns a new descriptor of what it was. */
  divert(fd: number, file: string): number;
  /** Ends the process at once, without exit handlers. */
  exitNow(status: number): never;
}

let loaded: Addon | undefined;

/** The addon. Throws one line that says how to get it where there is no binary for this platform. */
export function loadAddon(): Addon {
  if (loaded !== undefined) return loaded;
  const require = createRequire(import.meta.url);
  const load = require('node-gyp-build') as (dir: string) => Addon;
  try {
    loaded = load(packageRoot);
    return loaded;
  } catch (error) {
    const place = { packageRoot, node: process.execPath, nodeVersion: process.versions.node };
    throw new Error(describeLoadFailure((error as Error).message, place));
  }
}
