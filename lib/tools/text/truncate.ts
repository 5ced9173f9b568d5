// Limits of what one result may say, and the cuts that keep to them. Pure: strings in, strings out.
//
// A text of n newlines has n lines, plus one if something follows the last newline. Bytes are UTF-8 bytes.

export const MAX_LINES = 2000;
export const MAX_BYTES = 50 * 1024;

export interface Limits {
  readonly maxLines?: number;
  readonly maxBytes?: number;
}

export interface Cut {
  /** What is left: whole lines, without the last newline; part of one line only where `partialLine` says so. */
  readonly text: string;
  readonly truncated: boolean;
  /** The limit that was met first. */
  readonly by?: 'lines' | 'bytes';
  readonly lines: number;
  readonly totalLines: number;
  readonly totalBytes: number;
  /** The only line that is left was longer than all bytes allowed, and is cut itself. */
  readonly partialLine: boolean;
}

/** Length in UTF-8 bytes; a lone surrogate counts as the U+FFFD that it will become. */
export function utf8Length(text: string): number {
  if (!/[^\x00-\x7f]/.test(text)) return text.length;
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes += 1;
    else if (isHighSurrogate(code) && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 2;
      i++;
    } else bytes += 2;
  }
  return bytes;
}

/** The longest beginning of `text` that fits in `maxBytes` and ends between two characters. */
export function headBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const char of text) {
    bytes += utf8Length(char);
    if (bytes > maxBytes) break;
    end += char.length;
  }
  return text.slice(0, end);
}

/** The longest end of `text` that fits in `maxBytes` and begins between two characters. */
export function tailBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let start = text.length;
  while (start > 0) {
    const pair = start > 1 && isLowSurrogate(text.charCodeAt(start - 1)) && isHighSurrogate(text.charCodeAt(start - 2));
    const next = start - (pair ? 2 : 1);
    bytes += utf8Length(text.slice(next, start));
    if (bytes > maxBytes) break;
    start = next;
  }
  return text.slice(start);
}

/** Keeps the first lines. */
export function truncateHead(text: string, limits: Limits = {}): Cut {
  return truncate(text, limits, 'head');
}

/** Keeps the last lines. */
export function truncateTail(text: string, limits: Limits = {}): Cut {
  return truncate(text, limits, 'tail');
}

/** One line, cut after `maxChars` characters, with a mark that says how many are missing. */
export function truncateLine(line: string, maxChars: number): string {
  if (line.length <= maxChars) return line;
  const chars = [...line];
  if (chars.length <= maxChars) return line;
  return `${chars.slice(0, maxChars).join('')}… [${chars.length - maxChars} more characters]`;
}

/** "512 bytes", "50.0 kB", "1.2 MB"; kB is 1024 bytes, as in the limits. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} kB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** "1 line", "2 lines". */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The lines of a text by the rule of this file. */
export function splitLines(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function truncate(text: string, limits: Limits, side: 'head' | 'tail'): Cut {
  const maxLines = limits.maxLines ?? MAX_LINES;
  const maxBytes = limits.maxBytes ?? MAX_BYTES;
  const all = splitLines(text);
  const total = { totalLines: all.length, totalBytes: utf8Length(text) };
  const order = side === 'head' ? all : all.toReversed();
  const kept: string[] = [];
  let bytes = 0;
  let by: 'lines' | 'bytes' | undefined;
  for (const line of order) {
    const size = utf8Length(line) + (kept.length > 0 ? 1 : 0);
    if (kept.length >= maxLines) by = 'lines';
    else if (bytes + size > maxBytes) by = 'bytes';
    if (by) break;
    bytes += size;
    kept.push(line);
  }
  const partialLine = by === 'bytes' && kept.length === 0;
  if (partialLine) kept.push((side === 'head' ? headBytes : tailBytes)(order[0] ?? '', maxBytes));
  if (side === 'tail') kept.reverse();
  return {
    text: kept.join('\n'),
    truncated: by !== undefined,
    ...(by ? { by } : {}),
    lines: kept.length,
    ...total,
    partialLine,
  };
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
