// Reads a window of lines from an open file in chunks. Memory is the window and one chunk, however large the file is.
import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { MAX_BYTES } from '../text/truncate.js';
import { checkStopped } from '../types.js';
import { BOM, begins } from './file-kind.js';

const CHUNK_BYTES = 256 * 1024;
/** How much is read behind the window to be able to say how many lines the file has. */
const COUNT_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

export interface Window {
  /** The lines joined by "\n": without byte order mark, CRLF as LF, invalid UTF-8 as U+FFFD. */
  readonly text: string;
  readonly lines: number;
  /** How much of the file `text` stands for. */
  readonly bytes: number;
  /** There are lines behind the window. */
  readonly more: boolean;
  /** The first line of the window alone passes the limit of bytes; `text` is its beginning. */
  readonly cutLine: boolean;
  /** Known if the end of the file was met. */
  readonly totalLines?: number;
  readonly crlf: boolean;
  readonly invalid: boolean;
  readonly binary: boolean;
}

/**
 * Lines `offset` (from 1) to `offset + limit - 1`, as many as fit in MAX_BYTES. A file of n newlines has n lines, plus one if
 * something follows the last newline.
 */
export async function readLines(
  handle: FileHandle,
  options: { offset: number; limit: number; signal: AbortSignal },
): Promise<Window> {
  const { offset, limit, signal } = options;
  const collector = new Collector(offset, limit);
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let position = 0;
  let behind = 0;
  for (;;) {
    checkStopped(signal);
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return collector.result(true);
    const skip = position === 0 && begins(chunk, BOM) ? BOM.length : 0;
    collector.add(chunk.subarray(skip, bytesRead));
    position += bytesRead;
    if (!collector.full) continue;
    behind += bytesRead;
    if (behind > COUNT_BYTES) return collector.result(false);
  }
}

class Collector {
  /** Newlines met so far, and whether bytes follow the last one. */
  private newlines = 0;
  private open = false;
  private readonly kept: Buffer[] = [];
  private keptBytes = 0;
  full = false;

  constructor(
    private readonly offset: number,
    private readonly limit: number,
  ) {}

  add(bytes: Buffer): void {
    let start = this.newlines + 1 >= this.offset ? 0 : -1;
    let at = 0;
    for (let next = bytes.indexOf(NEWLINE); next >= 0; next = bytes.indexOf(NEWLINE, at)) {
      this.newlines++;
      at = next + 1;
      if (start < 0 && this.newlines + 1 === this.offset) start = at;
      if (!this.full && this.newlines === this.offset + this.limit - 1) {
        this.keep(bytes.subarray(start, at));
        this.full = true;
      }
    }
    if (bytes.length > 0) this.open = at < bytes.length;
    if (!this.full && start >= 0) {
      this.keep(bytes.subarray(start));
      // CRLF counts as one byte, so only twice the limit is certain not to fit, whatever the end of the last line is.
      if (this.keptBytes > 2 * (MAX_BYTES + 1)) this.full = true;
    }
  }

  result(atEnd: boolean): Window {
    const bytes = Buffer.concat(this.kept);
    const total = this.newlines + (this.open ? 1 : 0);
    const fitting = fit(bytes);
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(fitting.bytes);
    const last = this.offset + fitting.lines - 1;
    return {
      text: text.replaceAll('\r\n', '\n').replace(/\r?\n$/, ''),
      lines: fitting.lines,
      bytes: fitting.bytes.length,
      more: !atEnd || total > last,
      cutLine: fitting.cut,
      ...(atEnd ? { totalLines: total } : {}),
      crlf: text.includes('\r\n'),
      invalid: text.includes('\ufffd') && !isUtf8(fitting.bytes),
      binary: fitting.bytes.includes(0),
    };
  }

  private keep(bytes: Buffer): void {
    this.kept.push(Buffer.from(bytes));
    this.keptBytes += bytes.length;
  }
}

/** The whole lines of `bytes` that fit in MAX_BYTES as shown (the last newline is not); else the beginning of the first. */
function fit(bytes: Buffer): { bytes: Buffer; lines: number; cut: boolean } {
  let end = 0;
  let lines = 0;
  let size = 0;
  while (end < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, end);
    const next = newline < 0 ? bytes.length : newline + 1;
    const content = (newline < 0 ? next : newline) - end - (newline > end && bytes[newline - 1] === RETURN ? 1 : 0);
    if (size + content > MAX_BYTES) break;
    size += content + 1;
    end = next;
    lines++;
  }
  if (lines > 0 || bytes.length === 0) return { bytes: bytes.subarray(0, end), lines, cut: false };
  let cut = MAX_BYTES;
  // Not inside a character: no more than three continuation bytes follow its first.
  while (cut > MAX_BYTES - 3 && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut--;
  return { bytes: bytes.subarray(0, cut), lines: 1, cut: true };
}
