// The tool `bash`: runs a command and returns the end of its output.
//
// - The call ends when the shell has ended, even if a background process still holds the output: what comes within a moment
//   (IDLE_MS without a byte, at most DRAIN_MS) is still taken, then reading stops.
// - Background processes live on after a normal end of the call, also after panto's own end. A call that is cancelled or runs out of
//   time is stopped with everything it started (shell/processes.ts), and so is one that still runs when panto ends, even by
//   SIGKILL (shell/start.ts).
// - A non-zero exit status is an observation, not a failure of the tool.
// - There is no input and no terminal: whoever asks gets the end of the file, or an error from /dev/tty.
import { distUrl } from '../core/package-root.js';
import type { Json, NativeRun, Tool } from '../core/types.js';
import { CommandOutput, type OutputView } from './shell/output.js';
import { hasSurvivors, stopSession } from './shell/processes.js';
import { type Shell, startShell } from './shell/start.js';
import { MAX_BYTES, MAX_LINES } from './text/truncate.js';
import { checkStopped, type NativeResult, stopWord } from './types.js';

const DEFAULT_TIMEOUT_S = 120;
/** setTimeout's own limit is 24.8 days. */
const MAX_TIMEOUT_S = 24 * 3600;
const IDLE_MS = 200;
const DRAIN_MS = 1000;
/** With no process in sight that could print, the output is only late: the machine is busy. */
const LATE_MS = 1500;
/** After a stop the rest of the output is there already. */
const STOPPED_DRAIN_MS = 60;
const UPDATE_MS = 60;

export const bashTool: Tool = {
  name: 'bash',
  description:
    'Run a command in bash, in the working folder. Returns standard output and standard error together, and the exit status ' +
    `if it is not 0. Only the last ${MAX_LINES} lines or ${MAX_BYTES / 1024} kB are returned; the whole output is then in a ` +
    'file that the result names. There is no input and no terminal. Each call is a new shell: cd and variables do not stay. ' +
    'Start servers in the background with & and redirect their output to a file to see it later.',
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      command: { type: 'string', minLength: 1, description: 'Command, as typed in bash; may have several lines' },
      timeout: {
        type: 'number',
        exclusiveMinimum: 0,
        description: `Seconds after which the command is stopped; ${DEFAULT_TIMEOUT_S} when absent`,
      },
    },
    required: ['command'],
    additionalProperties: false,
  },
  // The tool's own limit, so that `timeout` can also be longer than the agent's default.
  timeoutMs: 0,
  module: distUrl('tools/bash'),
};

/** How the command ended. */
type End =
  | { readonly kind: 'exit'; readonly status: number; readonly background: boolean }
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'stopped'; readonly word: string };

export const run: NativeRun = async (input, call) => {
  const { command, timeout = DEFAULT_TIMEOUT_S } = input as { command: string; timeout?: number };
  checkStopped(call.signal);
  const output = new CommandOutput();
  const shell = await startShell(command, call.cwd);
  const { child } = shell;
  const stream = child.stdout;
  if (!stream) throw new Error('the shell has no output');
  const updates = coalesce(() => call.update(output.view().text));
  let lastByte = 0;
  stream.on('data', (chunk: Buffer) => {
    lastByte = performance.now();
    output.push(chunk);
    updates.request();
  });
  const closed = new Promise<void>((resolve) => stream.once('close', resolve).on('error', () => undefined));
  const exited = new Promise<End>((resolve) => {
    child.once('exit', (status, signal) => {
      resolve(signal ? { kind: 'signal', signal } : { kind: 'exit', status: status ?? 0, background: false });
    });
  });

  const seconds = Math.min(timeout, MAX_TIMEOUT_S);
  const stop = stopper(shell, call.signal, seconds);
  try {
    let end = await Promise.race([exited, stop.stopped]);
    const exitedAt = performance.now();
    if (end.kind === 'stopped') {
      updates.flush();
      await stop.gone();
      await Promise.race([closed, delay(STOPPED_DRAIN_MS)]);
    } else {
      const drained = drain(closed, shell.pid, () => Math.max(lastByte, exitedAt));
      const then = await Promise.race([drained, stop.stopped]);
      if (typeof then === 'object') {
        end = then;
        await stop.gone();
      } else if (end.kind === 'exit') end = { ...end, background: then === 'open' };
    }
    return report(output, end);
  } finally {
    stop.dispose();
    updates.dispose();
    stream.destroy();
    shell.release();
  }
};

/** 'closed' when the last writer has gone, 'open' when a process in the background still holds the output. */
async function drain(closed: Promise<void>, leader: number, lastByte: () => number): Promise<'closed' | 'open'> {
  const done = closed.then(() => 'closed' as const);
  const since = performance.now();
  for (;;) {
    const now = performance.now();
    let wait = Math.min(lastByte() + IDLE_MS, since + DRAIN_MS) - now;
    if (wait <= 0) {
      if (now > since + LATE_MS || hasSurvivors(leader) !== false) return 'open';
      wait = IDLE_MS;
    }
    const first = await Promise.race([done, delay(wait)]);
    if (first === 'closed') return first;
  }
}

/** Watches the signal and the time. The first signal to the processes leaves inside the event that asks for it. */
function stopper(shell: Shell, signal: AbortSignal, seconds: number) {
  let gone: Promise<void> | undefined;
  let resolve: (end: End) => void = () => undefined;
  const stopped = new Promise<End>((done) => {
    resolve = done;
  });
  const stop = (word: string): void => {
    if (gone) return;
    gone = stopSession(shell.pid);
    shell.abandon();
    resolve({ kind: 'stopped', word });
  };
  const onAbort = (): void => stop(stopWord(signal));
  const timer = setTimeout(() => stop(`timed out after ${seconds} s`), seconds * 1000);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return {
    stopped,
    gone: async () => gone,
    dispose: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}

function report(output: CommandOutput, end: End): NativeResult {
  output.end();
  const view = output.view();
  const notes: string[] = [];
  if (end.kind === 'signal') notes.push(`ended by signal ${end.signal}`);
  if (end.kind === 'exit' && end.status !== 0) notes.push(`exit status ${end.status}`);
  if (end.kind === 'exit' && end.background) {
    notes.push('a background process goes on; what it prints from now on is not shown');
  }
  if (end.kind === 'stopped') notes.push(`${end.word}: the command and everything it started were stopped`);
  const body = view.text === '' ? '[no output]' : view.text;
  const content = notes.length > 0 ? `${body}\n\n[${notes.join('; ')}]` : body;
  return { content, details: details(view, end), ...(end.kind === 'stopped' ? { isError: true } : {}) };
}

function details(view: OutputView, end: End): Json {
  return {
    ...(end.kind === 'exit' ? { exit_status: end.status, background: end.background } : {}),
    ...(end.kind === 'signal' ? { signal: end.signal } : {}),
    ...(end.kind === 'stopped' ? { stopped: end.word } : {}),
    truncated: view.truncated,
    total_lines: view.totalLines,
    total_bytes: view.totalBytes,
    full_output: view.file ?? null,
  };
}

/** Calls `act` at most once in UPDATE_MS however often it is requested. */
function coalesce(act: () => void) {
  let timer: NodeJS.Timeout | undefined;
  const dispose = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  const flush = (): void => {
    if (timer === undefined) return;
    dispose();
    act();
  };
  return {
    request: () => {
      timer ??= setTimeout(flush, UPDATE_MS);
    },
    flush,
    dispose,
  };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
