// What goes to stdout: one place that says where it is, and a writer that waits for a slow reader.
import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Where answers and protocol lines go. */
export function outputStream(): Writable {
  return process.stdout;
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
