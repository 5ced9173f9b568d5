// Runs the ripgrep binary that comes as an npm package, without the user's own configuration, and hands out its records
// one by one, so that a search can end as soon as enough has been found.
import { spawn } from 'node:child_process';
import { commandEnvironment } from '../shell/environment.js';
import { stopWord } from '../types.js';

/**
 * What is looked at, for grep and find alike: hidden files too, not .git, nothing that .gitignore (.ignore, .rgignore) excludes,
 * also where no repository is; one order, by path.
 */
export const COMMON_ARGUMENTS: readonly string[] = [
  '--no-config',
  '--hidden',
  '--no-require-git',
  '--glob=!.git',
  '--sort=path',
  '--color=never',
];

/** An error that concerns one file only: it cannot be read, or matching it takes too many steps. */
const FILE_ERROR = / \(os error \d+\)$|: PCRE2: error matching: /;
const MAX_ERROR_BYTES = 8 * 1024;
/** A record that has not ended by then is cut (paths and lines are far shorter; see --max-columns). */
const MAX_RECORD_BYTES = 1024 * 1024;

export interface RipgrepRun {
  /** One line per path that could not be searched. */
  readonly unreadable: readonly string[];
  /** `onRecord` had enough. */
  readonly stopped: boolean;
}

/** The path of the binary; throws one line if it is not installed. `load` is there for tests. */
export async function ripgrepPath(
  load: () => Promise<{ rgPath: string }> = () => import('@vscode/ripgrep'),
): Promise<string> {
  try {
    return (await load()).rgPath;
  } catch (error) {
    const platform = `${process.platform}-${process.arch}`;
    throw new Error(
      `grep and find need the package @vscode/ripgrep-${platform}, which is not installed: install panto again without --omit=optional`,
      { cause: error },
    );
  }
}

/**
 * Runs it in `cwd`. Records end with the byte `separator`. `onRecord` returns false to end the search. Throws one line for a
 * pattern that ripgrep refuses, and when the call is cancelled (the process is then killed at once).
 */
export async function runRipgrep(
  args: readonly string[],
  options: { cwd: string; signal: AbortSignal; separator: number; onRecord(record: string): boolean },
): Promise<RipgrepRun> {
  const { cwd, signal, separator, onRecord } = options;
  const { RIPGREP_CONFIG_PATH: _, ...env } = commandEnvironment();
  const child = spawn(await ripgrepPath(), args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  let stopped = false;
  let errors = '';
  const take = splitRecords(separator, (record) => {
    if (stopped || onRecord(record)) return;
    stopped = true;
    kill();
  });
  child.stdout.on('data', take);
  child.stderr.on('data', (chunk: Buffer) => {
    if (errors.length < MAX_ERROR_BYTES) errors += chunk.toString('utf8');
  });
  try {
    const status = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (signal.aborted) throw new Error(stopWord(signal));
    const unreadable = errors.split('\n').filter((line) => FILE_ERROR.test(line));
    if (!stopped && status !== 0 && status !== 1 && unreadable.length === 0) throw new Error(patternError(errors));
    return { unreadable, stopped };
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** The line for paths that could not be searched; empty if there were none. */
export function unreadableNote(unreadable: readonly string[]): string {
  if (unreadable.length === 0) return '';
  const first = unreadable[0]?.replace(/^rg: /, '').replace(/ \(os error \d+\)$/, '');
  return unreadable.length === 1
    ? `Not searched: ${first}`
    : `${unreadable.length} paths were not searched; the first: ${first}`;
}

function splitRecords(separator: number, onRecord: (record: string) => void): (chunk: Buffer) => void {
  let rest: Buffer[] = [];
  let size = 0;
  return (chunk) => {
    let at = 0;
    for (let end = chunk.indexOf(separator); end >= 0; end = chunk.indexOf(separator, at)) {
      onRecord(Buffer.concat([...rest, chunk.subarray(at, end)]).toString('utf8'));
      rest = [];
      size = 0;
      at = end + 1;
    }
    if (at === chunk.length || size > MAX_RECORD_BYTES) return;
    rest.push(chunk.subarray(at));
    size += chunk.length - at;
  };
}

/**
 * ripgrep draws the place of a mistake over several lines, once per engine; the cause is what a model needs. PCRE2's is the
 * better one: it comes last, and the other engine also complains about what only PCRE2 knows.
 */
function patternError(errors: string): string {
  const lines = errors.split('\n').map((line) => line.trim());
  const causes = lines.map((line) => /^(?:error: |PCRE2: error .* at offset \d+: )(.+)$/.exec(line)?.[1]);
  const cause = causes.findLast((found) => found !== undefined);
  if (cause) return `invalid pattern: ${cause} (set literal to search for plain text)`;
  const first = lines.find((line) => line !== '')?.replace(/^rg: /, '') ?? 'it ended without a reason';
  return `ripgrep failed: ${first}`;
}
