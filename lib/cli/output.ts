// Where answers, protocol lines and the terminal are: one place that says so, and a writer that waits for a slow reader.
//
// Once extensions can run, descriptor 1 (in the interactive interface 2 as well) is their log: what C code of a rock or a command
// of theirs prints must corrupt neither an answer nor the screen. What panto itself writes goes to private copies from then on.
import { once } from 'node:events';
import { fstatSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { isatty, WriteStream } from 'node:tty';
import { type Addon, loadAddon } from '../lua/addon.js';

let out: Writable | undefined;
let err: Writable | undefined;
let reportBroken: (error: NodeJS.ErrnoException) => void = () => {};

/** Called for an error of the standard output: its reader went away, its disk is full. */
export function onBrokenOutput(report: (error: NodeJS.ErrnoException) => void): void {
  reportBroken = report;
}

/** The standard output that panto was started with. */
export function standardOutput(): Writable {
  out ??= guarded(process.stdout, (error) => reportBroken(error));
  return out;
}

/** The standard error that panto was started with. */
export function standardError(): Writable {
  err ??= guarded(process.stderr, () => {});
  return err;
}

/** Both, as far as they have been used. */
export function usedOutputs(): readonly Writable[] {
  return [out, err].filter((stream) => stream !== undefined);
}

/**
 * Descriptor 1, with `both` also 2, becomes `logFile` (empty: nowhere). Must come before anybody has touched process.stdout, which
 * Node binds to its descriptor. Without an addon nothing happens: then no extension runs either.
 */
export function keepOutput(logFile: string, { both }: { readonly both: boolean }): void {
  let addon: Addon;
  try {
    addon = loadAddon();
  } catch {
    return;
  }
  const divert = (fd: number): Writable => {
    try {
      return streamOf(addon.divert(fd, logFile));
    } catch {
      return streamOf(addon.divert(fd, '/dev/null'));
    }
  };
  out = guarded(divert(1), (error) => reportBroken(error));
  if (both) err = guarded(divert(2), () => {});
}

/** The terminal that panto was started at, as keepOutput has kept it. */
export function terminalOutput(): WriteStream {
  const stream = standardOutput();
  if (!(stream instanceof WriteStream)) throw new Error('standard output is not a terminal');
  return stream;
}

function guarded(stream: Writable, onError: (error: NodeJS.ErrnoException) => void): Writable {
  stream.on('error', onError);
  return stream;
}

/** What Node would make of descriptor 1. */
function streamOf(fd: number): Writable {
  if (isatty(fd)) {
    const stream = new WriteStream(fd);
    // Node does this for its own two only.
    process.on('SIGWINCH', () => (stream as unknown as { _refreshSize(): void })._refreshSize());
    return stream;
  }
  const stat = fstatSync(fd);
  return stat.isFIFO() || stat.isSocket() ? new Socket({ fd, readable: false, writable: true }) : new FileOutput(fd);
}

/** A file, or a device that is none of the above: written at once, as Node does with its own. */
class FileOutput extends Writable {
  readonly #fd: number;

  constructor(fd: number) {
    super({ decodeStrings: true });
    this.#fd = fd;
  }
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    try {
      for (let at = 0; at < chunk.length; ) at += writeSync(this.#fd, chunk, at);
      done();
    } catch (error) {
      done(error as Error);
    }
  }
}

/** More than this (bytes) that the reader has not taken holds up the next turn. */
const backlogLimit = 1 << 20;

/** Resolves when the reader has caught up so far that more may be written, or will never. */
export async function readerReady(stream: Writable): Promise<void> {
  while (stream.writableLength > backlogLimit && !stream.destroyed) {
    const over = new AbortController();
    const { signal } = over;
    await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]).catch(() => {});
    over.abort();
  }
}
