// How the process ends: what has to be disposed is disposed (two seconds at most), what was written arrives, the status is
// right. Whoever calls `leave` first decides the status.
import type { Writable } from 'node:stream';
import { onBrokenOutput, usedOutputs } from './output.js';

/** Nothing that is disposed at the end may hold the process longer. */
const disposeLimitMs = 2000;
const disposers = new Set<() => Promise<void>>();
let leaving: Promise<never> | undefined;
/** The status when stdout could not be written: what had a good end otherwise has not. */
let outputStatus: number | undefined;

/** Ends the process now. The one place that does. */
export function exitWith(code: number): never {
  process.exit(code);
}

/** Registers work for the end of the process; gives a function that takes it back. The last registered runs first. */
export function onLeave(dispose: () => Promise<void>): () => void {
  disposers.add(dispose);
  return () => disposers.delete(dispose);
}

/** Disposes, flushes and exits. */
export function leave(code: number): Promise<never> {
  leaving ??= end(code);
  return leaving;
}

/** As `leave`, but nobody is waited for longer than the limit, also if the process was already leaving. */
function leaveSoon(code: number): void {
  setTimeout(() => exitWith(code), disposeLimitMs);
  void leave(code);
}

/**
 * SIGINT, SIGTERM and SIGHUP dispose and end with 130, 143 and 129; a second one ends at once. A reader of stdout that went away
 * ends the process quietly with 141, the status of any program that dies of SIGPIPE; any other error of stdout is a failure.
 */
export function guardProcess(report: (message: string) => void): void {
  const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  let signalled = false;
  for (const [signal, code] of Object.entries(signals)) {
    process.on(signal, () => {
      if (signalled) exitWith(code);
      signalled = true;
      leaveSoon(code);
    });
  }
  onBrokenOutput((error) => {
    if (outputStatus !== undefined) return;
    outputStatus = error.code === 'EPIPE' ? 141 : 1;
    if (error.code !== 'EPIPE') report(`cannot write to standard output: ${error.message}`);
    leaveSoon(outputStatus);
  });
}

/** A reader of what was written may be as slow as it likes. */
async function end(code: number): Promise<never> {
  await Promise.race([disposeAll(), new Promise((resolve) => setTimeout(resolve, disposeLimitMs))]);
  await Promise.all(usedOutputs().map(flush));
  // An error of the last write is told in a later tick.
  await new Promise((resolve) => setImmediate(resolve));
  return exitWith(outputStatus ?? code);
}

async function disposeAll(): Promise<void> {
  for (const dispose of [...disposers].reverse()) await dispose().catch(() => {});
}

/** Resolves when everything written so far has left the process, or cannot. */
function flush(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) return resolve();
    stream.once('error', () => resolve());
    stream.write('', () => resolve());
  });
}
