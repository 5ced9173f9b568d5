// Starts a command in a shell, in a session and process group of its own, without a terminal and without input.
//
// Node gives a child sockets, not pipes, so `echo x > /dev/stderr` would fail, and a background process that goes on
// printing after we stopped reading would die of SIGPIPE. So bash first opens a real pipe to a relay (a subshell with
// cat) for both streams, which also keeps their order, and then becomes the command's shell by exec: exit status and
// signals are the command's own. The relay ends with the last writer; when nobody reads it any more it goes on draining.
// It ignores SIGTERM, so that what a command prints while it is being stopped is not lost.
// A watcher beside it stops the command if panto ends, in whatever way, before it has released the command.
// Without bash the streams are merged on the socket, both limits apply, and there is no watcher.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { commandEnvironment } from './environment.js';

const BASH = '/bin/bash';
const SH = '/bin/sh';
/** The descriptor on which the watcher waits: a line releases the command, the end without one stops its process group. */
const LIFELINE = 3;
const WATCHER = `read -r -u ${LIFELINE} || { kill -TERM -- -$$; sleep 0.2; kill -KILL -- -$$; }`;
const RELAY = [
  'trap "" TERM INT HUP',
  'exec 2>/dev/null',
  // Both find their programs whatever PATH the user has.
  'PATH=/usr/bin:/bin:$PATH',
  `{ ${WATCHER}; } >/dev/null &`,
  `exec ${LIFELINE}<&-`,
  'cat || exec cat >/dev/null',
].join('\n');
const WITH_RELAY = `exec > >(${RELAY}) 2>&1 ${LIFELINE}<&-; exec "$0" -c "$1"`;
const WITHOUT_RELAY = `exec "$0" -c "$1" 2>&1 ${LIFELINE}<&-`;

export interface Shell {
  readonly child: ChildProcess;
  /** Also the number of the command's session and process group. */
  readonly pid: number;
  /** From now on the command's processes may outlive panto. */
  release(): void;
  /** Has the watcher stop them, also if panto ends in the next moment. */
  abandon(): void;
}

/**
 * Starts `command` in the folder `cwd`; its output, both streams in order, is `child.stdout`. Resolves when it runs; throws one
 * line if it cannot.
 */
export async function startShell(command: string, cwd: string): Promise<Shell> {
  if (command.includes('\0')) throw new Error('the command contains a NUL character');
  const folder = await stat(cwd).catch(() => undefined);
  if (!folder?.isDirectory()) throw new Error(`cannot run commands: the working folder ${cwd} does not exist any more`);
  // -p: BASH_ENV is read by the command's shell, not by this step too.
  const [shell, args] = existsSync(BASH)
    ? [BASH, ['-p', '-c', WITH_RELAY, BASH, command]]
    : [SH, ['-c', WITHOUT_RELAY, SH, command]];
  try {
    const child = spawn(shell, args, {
      cwd,
      env: commandEnvironment(),
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
      detached: true,
    });
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
    const lifeline = child.stdio[LIFELINE];
    // The watcher may have been killed with the command.
    lifeline?.on('error', () => undefined);
    return {
      child,
      pid: child.pid as number,
      release: () => void (lifeline instanceof Writable && !lifeline.destroyed && lifeline.end('\n')),
      abandon: () => void lifeline?.destroy(),
    };
  } catch (error) {
    throw startError(error, command);
  }
}

/** Whether a command line, as in /proc/PID/cmdline, is the one of a relay or watcher (or of a shell that has not become the command's yet). */
export function isRelay(commandLine: string): boolean {
  return commandLine.startsWith(`${BASH}\0-p\0-c\0${WITH_RELAY}\0`);
}

function startError(error: unknown, command: string): Error {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code === 'E2BIG') {
    const size = Math.ceil(Buffer.byteLength(command) / 1024);
    return new Error(`the command is too long for the system (${size} kB): write it to a file and run that`);
  }
  const cause = error instanceof Error ? error.message : String(error);
  return new Error(`cannot start a shell: ${cause}`, { cause: error });
}
