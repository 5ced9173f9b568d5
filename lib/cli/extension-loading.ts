// The second half of the start: the tree, Lua, and the extensions in it.
import { join } from 'node:path';
import { packageRoot } from '../core/package-root.js';
import { discoverExtensions } from '../extensions/discover.js';
import { type LoadResult, loadExtensions } from '../extensions/load.js';
import { compilePolicy } from '../extensions/policy.js';
import { syncTree } from '../rocks/index.js';
import type { SessionLua, startLua } from './lua-runtime.js';
import type { Notify } from './notice.js';
import type { Setup } from './setup.js';

export interface LoadingOptions {
  readonly notify: Notify;
  readonly startLua: typeof startLua;
  readonly signal: AbortSignal;
}

export interface LoadedExtensions extends LoadResult {
  /** Absent where Lua could not be started; why was said. */
  readonly runtime: SessionLua | undefined;
}

/** Brings the tree up to date, starts Lua and loads what the policy permits. What goes wrong is told, and costs itself only. */
export async function loadAll(setup: Setup, options: LoadingOptions): Promise<LoadedExtensions> {
  const runtime = await startRuntime(setup, options);
  try {
    const { paths, root, home, config, trusted } = setup;
    const found = await discoverExtensions({
      baseDir: join(packageRoot, 'lua'),
      configDir: paths.configDir,
      projectRoot: root,
      trusted,
      paths: config.extensions.paths,
      home,
    });
    const loaded = await loadExtensions({
      candidates: found.candidates,
      untrusted: found.untrusted,
      host: runtime,
      policy: await compilePolicy(config.extensions.rules),
      settings: config.extensions.settings,
    });
    const problems = [...found.problems, ...loaded.problems];
    for (const { message } of problems) options.notify({ level: 'warning', message });
    return { ...loaded, problems, runtime };
  } catch (error) {
    await runtime?.dispose();
    throw error;
  }
}

async function startRuntime(setup: Setup, options: LoadingOptions): Promise<SessionLua | undefined> {
  const { notify, signal } = options;
  const synced = await syncTree({
    pantoHome: setup.paths.dataDir,
    onProgress: (message) => notify({ level: 'info', message }),
    signal,
  });
  signal.throwIfAborted();
  if (synced.kind === 'failed') {
    notify({ level: 'warning', message: `no Lua extensions: ${synced.message}` });
    return undefined;
  }
  try {
    const { cwd, env, config } = setup;
    const runtime = await options.startLua({ tree: synced.tree, cwd, env, limits: config.lua });
    runtime.on((event) => {
      if (event.type === 'problem') {
        const { message, traceback } = event;
        notify({ level: 'warning', message, ...(traceback === undefined ? {} : { traceback }) });
      }
      if (event.type === 'notify') {
        const level = event.level === 'error' || event.level === 'info' ? event.level : 'warning';
        notify({ level, message: `${event.extension}: ${event.text}` });
      }
    });
    return runtime;
  } catch (error) {
    notify({
      level: 'warning',
      message: `no Lua extensions: ${error instanceof Error ? error.message : String(error)}`,
    });
    return undefined;
  }
}
