// The output of a command as the model gets it: cleaned, the last lines within the limits, and the whole of it in a file once
// it has outgrown them. Memory is bounded however much is printed.
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TerminalCleaner } from '../text/clean.js';
import { type Cut, formatBytes, MAX_BYTES, MAX_LINES, truncateTail, utf8Length } from '../text/truncate.js';

/** The tail is shortened to KEEP_CHARS, which always holds what the limits allow, whenever it has grown to twice that. */
const KEEP_CHARS = 64 * 1024;
/** A command that prints without end must not fill the disk. */
const MAX_STORED_BYTES = 1024 * 1024 * 1024;

export interface OutputView {
  /** Last lines, then a note in brackets where something is missing. Empty if nothing was printed. */
  readonly text: string;
  readonly truncated: boolean;
  readonly totalLines: number;
  readonly totalBytes: number;
  /** The file with the whole output. */
  readonly file?: string;
}

export class CommandOutput {
  private readonly decoder = new TextDecoder();
  private readonly cleaner = new TerminalCleaner();
  /** The end of the finished text; the beginning too while `file` is unset. */
  private tail = '';
  private newlines = 0;
  private bytes = 0;
  private file: { path: string; fd: number; stored: number } | undefined;
  private storeError: string | undefined;

  push(chunk: Uint8Array): void {
    this.add(this.cleaner.push(this.decoder.decode(chunk, { stream: true })));
  }

  /** No more output; closes the file. */
  end(): void {
    this.add(this.cleaner.push(this.decoder.decode()) + this.cleaner.end());
    if (this.file) closeSync(this.file.fd);
  }

  /** What there is now, with the line that is being written. */
  view(): OutputView {
    const text = this.tail + this.cleaner.pending;
    const cut = truncateTail(text);
    const open = text !== '' && !text.endsWith('\n');
    const totalLines = this.newlines + (open ? 1 : 0);
    const totalBytes = this.bytes + utf8Length(this.cleaner.pending);
    const truncated = totalLines > cut.lines || cut.partialLine;
    const view = { truncated, totalLines, totalBytes, ...(this.file ? { file: this.file.path } : {}) };
    return { ...view, text: truncated ? `${cut.text}\n\n[${this.missing(cut, totalLines, totalBytes)}]` : cut.text };
  }

  private missing(cut: Cut, totalLines: number, totalBytes: number): string {
    const what = cut.partialLine
      ? `The last ${formatBytes(utf8Length(cut.text))} of line ${totalLines} are shown`
      : `Lines ${totalLines - cut.lines + 1}-${totalLines} of ${totalLines} are shown`;
    const where = this.file ? ` Whole output: ${this.file.path}` : '';
    const why = this.storeError ? ` (incomplete: ${this.storeError})` : '';
    return `${what}, of ${formatBytes(totalBytes)} in all.${where}${why}`;
  }

  private add(text: string): void {
    if (text === '') return;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.newlines++;
    this.bytes += utf8Length(text);
    this.tail += text;
    if (this.file) this.store(text);
    else if (this.isOverLimits()) this.startFile();
    if (this.tail.length > 2 * KEEP_CHARS) this.tail = this.tail.slice(-KEEP_CHARS);
  }

  /** By the rule of truncateTail: the last newline ends a line and is not shown. */
  private isOverLimits(): boolean {
    const closed = this.tail.endsWith('\n');
    return this.newlines + (closed ? 0 : 1) > MAX_LINES || this.bytes - (closed ? 1 : 0) > MAX_BYTES;
  }

  private startFile(): void {
    if (this.storeError) return;
    const path = join(tmpdir(), `panto-bash-${randomBytes(8).toString('hex')}.log`);
    try {
      const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND, 0o600);
      this.file = { path, fd, stored: 0 };
    } catch (error) {
      this.storeError = error instanceof Error ? error.message : String(error);
      return;
    }
    this.store(this.tail);
  }

  private store(text: string): void {
    if (!this.file || this.storeError) return;
    try {
      const data = Buffer.from(text);
      for (let at = 0; at < data.length; ) at += writeSync(this.file.fd, data, at);
      this.file.stored += data.length;
      if (this.file.stored > MAX_STORED_BYTES) this.storeError = `stopped at ${formatBytes(MAX_STORED_BYTES)}`;
    } catch (error) {
      this.storeError = error instanceof Error ? error.message : String(error);
    }
  }
}
