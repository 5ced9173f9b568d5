// The tool `read`: a text file or a part of it, an image, or one line why not.
//
// Text is shown exactly as it is (tabs, no line numbers), so that a passage can be given to `edit` as it was read. Only
// the byte order mark and the CR of CRLF line ends are not shown; `edit` matches without them and keeps them. A large file
// is read in chunks from its beginning up to the last line that is shown, never as a whole.
import type { FileHandle } from 'node:fs/promises';
import { distUrl } from '../core/package-root.js';
import type { NativeRun, Tool } from '../core/types.js';
import { BOM, refusal, SNIFF_BYTES, sniff } from './files/file-kind.js';
import { readLines, type Window } from './files/line-window.js';
import { openRegular } from './files/open-regular.js';
import { printableName, resolvePath } from './files/paths.js';
import { formatBytes, MAX_BYTES, MAX_LINES, plural } from './text/truncate.js';
import type { NativeResult } from './types.js';

/** Of the file; base64 makes it 5 MB, which all providers take. */
const MAX_IMAGE_BYTES = 3.75 * 1024 * 1024;

export const readTool: Tool = {
  name: 'read',
  description:
    'Read a file. Text comes exactly as it is in the file, without line numbers. At most ' +
    `${MAX_LINES} lines or ${MAX_BYTES / 1024} kB are returned, whichever comes first; the result then says how to read on ` +
    'with offset. Images (png, jpg, gif, webp) are returned as images. Use this instead of cat or sed.',
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description: 'File to read: relative to the working folder, absolute, or ~/…',
      },
      offset: { type: 'integer', minimum: 1, description: 'First line to return, counted from 1' },
      limit: { type: 'integer', minimum: 1, description: `Number of lines to return; at most ${MAX_LINES}` },
    },
    required: ['path'],
    additionalProperties: false,
  },
  readOnly: true,
  module: distUrl('tools/read'),
};

export const run: NativeRun = async (input, call) => {
  const { path, offset = 1, limit = MAX_LINES } = input as { path: string; offset?: number; limit?: number };
  const shown = printableName(path);
  const { handle, stats } = await openRegular(resolvePath(path, call.cwd), path);
  try {
    const head = Buffer.alloc(SNIFF_BYTES);
    const { bytesRead } = await handle.read(head, 0, SNIFF_BYTES, 0);
    const kind = sniff(head.subarray(0, bytesRead));
    if (kind.kind === 'image') return await readImage(handle, stats.size, kind.mime, shown);
    if (kind.kind !== 'text') throw new Error(refusal(shown, kind));
    if (bytesRead === (kind.bom ? BOM.length : 0)) return `[${shown} is empty (${formatBytes(bytesRead)})]`;
    const window = await readLines(handle, { offset, limit: Math.min(limit, MAX_LINES), signal: call.signal });
    if (window.binary) throw new Error(refusal(shown, { kind: 'binary' }));
    return describe(window, { shown, offset, size: stats.size });
  } finally {
    await handle.close();
  }
};

async function readImage(handle: FileHandle, size: number, mime: string, shown: string): Promise<NativeResult> {
  if (size > MAX_IMAGE_BYTES) {
    const limit = formatBytes(MAX_IMAGE_BYTES);
    throw new Error(`${shown} is an image of ${formatBytes(size)}; the limit is ${limit}: make it smaller first`);
  }
  const data = await handle.readFile();
  return {
    content: [
      { type: 'text', text: `[${shown}: ${mime}, ${formatBytes(data.length)}]` },
      { type: 'image', data: data.toString('base64'), mime },
    ],
    details: { mime, bytes: data.length },
  };
}

function describe(window: Window, file: { shown: string; offset: number; size: number }): NativeResult {
  const { shown, offset } = file;
  if (window.lines === 0) {
    throw new Error(`offset ${offset} is behind the end: ${shown} has ${plural(window.totalLines ?? 0, 'line')}`);
  }
  const last = offset + window.lines - 1;
  const total = window.totalLines === undefined ? '' : ` of ${window.totalLines}`;
  const notes: string[] = [];
  if (window.cutLine) {
    notes.push(
      `Line ${offset} is longer than ${MAX_BYTES / 1024} kB; its first ${window.bytes} bytes are shown. ` +
        `More of it with bash: sed -n '${offset}{p;q}' FILE | tail -c +${window.bytes + 1} | head -c ${MAX_BYTES}`,
    );
    if (window.more) notes.push(`The next line is offset=${offset + 1}.`);
  } else if (window.more) {
    notes.push(`Lines ${offset}-${last}${total} are shown. Read on with offset=${last + 1}.`);
  } else if (offset > 1) notes.push(`Lines ${offset}-${last}${total} are shown, to the end of the file.`);
  if (window.crlf) notes.push('Lines end in CRLF.');
  if (window.invalid) notes.push('Some bytes are not UTF-8 and shown as \ufffd; edit will refuse this file.');
  return {
    content: notes.length > 0 ? `${window.text}\n\n[${notes.join(' ')}]` : window.text,
    details: {
      first_line: offset,
      last_line: last,
      total_lines: window.totalLines ?? null,
      bytes: file.size,
      truncated: window.more || window.cutLine,
    },
  };
}
