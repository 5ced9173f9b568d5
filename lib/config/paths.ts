// Where panto keeps its files, where the project begins, and how a path is shown to a person.
// On the start path of every command, `panto lua` included: nothing but Node's own modules.
import { statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** Absolute folders of panto; none of them needs to exist. */
export interface PantoPaths {
  /** config.toml, extensions/, tools/ of the user. */
  readonly configDir: string;
  /** The trees of rocks; PANTO_HOME when that is set. */
  readonly dataDir: string;
  readonly stateDir: string;
  readonly logDir: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folders by the XDG Base Directory Specification: a variable that is empty or holds a relative path counts as not set.
 * @throws Error with one line where a folder would need HOME and HOME is no absolute path, or where PANTO_HOME is relative.
 */
export function pantoPaths(env: Environment): PantoPaths {
  const stateDir = xdgFolder(env, 'XDG_STATE_HOME', '.local', 'state');
  return {
    configDir: xdgFolder(env, 'XDG_CONFIG_HOME', '.config'),
    dataDir: dataFolder(env),
    stateDir,
    logDir: join(stateDir, 'log'),
  };
}

/** `PantoPaths.dataDir` alone: who needs no more gets by without HOME where PANTO_HOME is set. Throws as `pantoPaths` does. */
export function dataFolder(env: Environment): string {
  const override = env.PANTO_HOME || undefined;
  if (override === undefined) return xdgFolder(env, 'XDG_DATA_HOME', '.local', 'share');
  if (!isAbsolute(override)) throw new Error(`PANTO_HOME must be an absolute path, not "${printable(override)}"`);
  return resolve(override);
}

function xdgFolder(env: Environment, variable: string, ...fallback: string[]): string {
  const value = env[variable];
  const base = value !== undefined && isAbsolute(value) ? resolve(value) : join(homeFolder(env, variable), ...fallback);
  return join(base, 'panto');
}

function homeFolder(env: Environment, variable: string): string {
  const home = userHome(env);
  if (home !== undefined) return home;
  throw new Error(
    `HOME is not set to an absolute path; set HOME or ${variable}, so that panto knows where its files are`,
  );
}

/** The home folder that `~` stands for; undefined where HOME is not an absolute path. */
export function userHome(env: Environment): string | undefined {
  return env.HOME !== undefined && isAbsolute(env.HOME) ? resolve(env.HOME) : undefined;
}

/** The nearest ancestor of `cwd` (itself included) that holds a folder `.panto` or a `.git`, else `cwd`; absolute. */
export function projectRoot(cwd: string): string {
  const start = resolve(cwd);
  for (let dir = start; ; dir = dirname(dir)) {
    // `.git` is a file in a work tree and in a submodule.
    if (isFolder(join(dir, '.panto')) || exists(join(dir, '.git'))) return dir;
    if (dirname(dir) === dir) return start;
  }
}

function exists(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * A path written in a config, made absolute: `~` is the home folder, a relative path starts at `base`.
 * @throws Error with one line for `~name` and for `~` without a home folder.
 */
export function resolveWrittenPath(written: string, base: string, home: string | undefined): string {
  if (!written.startsWith('~')) return resolve(base, written);
  if (written !== '~' && !written.startsWith('~/')) {
    throw new Error(`"${printable(written)}": only ~ and ~/… are expanded, not the home of another user`);
  }
  if (home === undefined) throw new Error(`"${printable(written)}": HOME is not set to an absolute path`);
  return join(home, written.slice(1));
}

/** A path as messages show it: relative to the project where it lies inside, else with `~`, on one line. */
export function displayPath(path: string, root: string | undefined, home: string | undefined): string {
  const inside = (folder: string | undefined): string | undefined => {
    if (folder === undefined) return undefined;
    const rest = relative(folder, path);
    return rest !== '' && rest !== '..' && !rest.startsWith(`..${sep}`) ? rest : undefined;
  };
  const inProject = inside(root);
  if (inProject !== undefined) return printable(inProject);
  const inHome = inside(home);
  return printable(inHome === undefined ? path : `~${sep}${inHome}`);
}

/** The text on one line and without control sequences: names of files come from other people's repositories. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}
