// The first half of the start: folders, the user's config, whether the project is trusted, and then its config.
import { type Config, type ConfigError, formatConfigError, loadConfig } from '../config/config.js';
import { type PantoPaths, pantoPaths, projectRoot, userHome } from '../config/paths.js';
import type { Notify } from './notice.js';
import { isProjectTrusted, type TrustOptions } from './project-trust.js';

export interface Setup {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly paths: PantoPaths;
  /** Root of the project. */
  readonly root: string;
  readonly home: string | undefined;
  readonly trusted: boolean;
  readonly config: Config;
}

export interface SetupOptions extends TrustOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly notify: Notify;
}

/** @throws Error with one line; where several things are wrong in the configs, an AggregateError with one for each */
export async function readSetup(options: SetupOptions): Promise<Setup> {
  const { cwd, env } = options;
  const paths = pantoPaths(env);
  const root = projectRoot(cwd);
  const home = userHome(env);
  const read = async (trusted: boolean): Promise<Config> => {
    const result = await loadConfig({ paths, projectRoot: root, trusted, home });
    if ('errors' in result) throw configFailure(result.errors, root, home);
    return result.config;
  };
  // The user's own config must be good before anything is asked.
  const own = await read(false);
  const trusted = await isProjectTrusted({ ...options, paths, root, home });
  return { cwd, env, paths, root, home, trusted, config: trusted ? await read(true) : own };
}

function configFailure(errors: readonly ConfigError[], root: string, home: string | undefined): Error {
  const lines = errors.map((error) => formatConfigError(error, root, home));
  return new AggregateError(
    lines.map((line) => new Error(line)),
    lines.join('; '),
  );
}
