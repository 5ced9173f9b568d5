// The tree's lock: a file made with O_EXCL that names its owner by host, process id and start time. A waiter takes over from an
// owner that is gone. Should two ever hold it at once, the tree stays whole (each file is renamed into place); only work is doubled.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SyncFailure } from './failure.js';
import { temporaryPrefix } from './write.js';

interface Owner {
  host: string;
  pid: number;
  /** When the process started, in the operating system's own words; tells a reused process id. */
  start: string;
}

const pollMs = 100;
// A lock whose owner cannot be looked at (other host, other container, half written) is believed for so long; a sync takes seconds.
const blindTrustMs = 10 * 60_000;
const halfWrittenMs = 5_000;

/**
 * Waits until the lock is ours.
 * @param onWait called once, with the owner's process id, when somebody else has it
 * @returns the function that gives it back
 * @throws as the file system does; SyncFailure when `signal` aborts
 */
export async function acquireLock(
  file: string,
  onWait: (pid: number | undefined) => void,
  signal?: AbortSignal,
): Promise<() => void> {
  const mine = JSON.stringify({
    host: hostname(),
    pid: process.pid,
    start: startOf(process.pid) ?? '',
  } satisfies Owner);
  for (let waited = false; ; ) {
    if (signal?.aborted) throw new SyncFailure('interrupted before the Lua tree was ready');
    if (create(file, mine)) return () => removeIf(file, mine);
    const found = read(file);
    if (found === undefined) continue;
    if (isGone(found)) {
      removeIf(file, found.text);
      continue;
    }
    if (!waited) onWait(parse(found.text)?.pid);
    waited = true;
    // An abort ends the wait; the loop's first line says so.
    await sleep(pollMs, undefined, signal && { signal }).catch(() => {});
  }
}

function create(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    // The file was made, but the text did not fit.
    if (code === 'ENOSPC' || code === 'EDQUOT') rmSync(file, { force: true });
    throw error;
  }
}

interface Found {
  text: string;
  ageMs: number;
}

function read(file: string): Found | undefined {
  try {
    return { text: readFileSync(file, 'utf8'), ageMs: Date.now() - statSync(file).mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(text: string): Owner | undefined {
  try {
    return JSON.parse(text) as Owner;
  } catch {
    return undefined;
  }
}

function isGone({ text, ageMs }: Found): boolean {
  const owner = parse(text);
  if (!owner) return ageMs > halfWrittenMs;
  if (owner.host !== hostname()) return ageMs > blindTrustMs;
  return startOf(owner.pid) !== owner.start;
}

/** Removes the lock only if it still reads `text`: what was moved aside by mistake is put back. */
function removeIf(file: string, text: string): void {
  const aside = join(dirname(file), `${temporaryPrefix}lock-${process.pid}`);
  try {
    renameSync(file, aside);
    const moved = readFileSync(aside, 'utf8');
    if (moved !== text) create(file, moved);
    rmSync(aside, { force: true });
  } catch (error) {
    // Somebody else removed it, or the next owner has already cleaned up after us.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** When a process started; undefined when there is none (a zombie has ended, too). */
function startOf(pid: number): string | undefined {
  if (existsSync('/proc/self/stat')) return startFromProc(pid);
  try {
    const output = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return output.trim() || undefined;
  } catch {
    return undefined;
  }
}

/** proc(5): after the name in parentheses come the state and, as the 20th field from there, the start in ticks since boot. */
function startFromProc(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const hasEnded = fields[0] === 'Z' || fields[0] === 'X';
    return hasEnded ? undefined : `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fields[19]}`;
  } catch {
    return undefined;
  }
}
