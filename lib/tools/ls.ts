// The tool `ls`: the names in one folder, sorted, hidden ones included.
import type { Dirent } from 'node:fs';
import { readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { distUrl } from '../core/package-root.js';
import type { NativeRun, Tool } from '../core/types.js';
import { errorCode, fileError, printableName, resolvePath } from './files/paths.js';
import { truncateHead } from './text/truncate.js';
import { checkStopped } from './types.js';

const DEFAULT_LIMIT = 500;

export const lsTool: Tool = {
  name: 'ls',
  description:
    'List a folder: one name per line, sorted, hidden files included. Folders end in "/", symbolic links show "-> target". ' +
    `At most ${DEFAULT_LIMIT} entries. To look for files by name in sub-folders use find.`,
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: 'Folder to list; the working folder when absent' },
      limit: { type: 'integer', minimum: 1, description: `Number of entries to show; ${DEFAULT_LIMIT} when absent` },
    },
    additionalProperties: false,
  },
  readOnly: true,
  module: distUrl('tools/ls'),
};

export const run: NativeRun = async (input, call) => {
  const { path = '.', limit = DEFAULT_LIMIT } = input as { path?: string; limit?: number };
  const shown = printableName(path);
  const folder = resolvePath(path, call.cwd);
  const entries = await readFolder(folder, path);
  checkStopped(call.signal);
  if (entries.length === 0)
    return { content: `[${shown} is an empty folder]`, details: { entries: 0, truncated: false } };
  entries.sort((a, b) => compare(a.name, b.name));
  const lines = await Promise.all(entries.slice(0, limit).map((entry) => describe(folder, entry)));
  const cut = truncateHead(lines.join('\n'), { maxLines: limit });
  const truncated = cut.lines < entries.length;
  const note = `\n\n[${cut.lines} of ${entries.length} entries shown. See more with a larger limit, or narrow it with find.]`;
  return { content: truncated ? cut.text + note : cut.text, details: { entries: entries.length, truncated } };
};

async function readFolder(folder: string, given: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    const isFile = errorCode(error) === 'ENOTDIR' && (await stat(folder).catch(() => undefined));
    if (isFile) throw new Error(`${printableName(given)} is a file, not a folder: use read`);
    throw fileError(error, 'list', given);
  }
}

async function describe(folder: string, entry: Dirent): Promise<string> {
  const name = printableName(entry.name);
  if (entry.isDirectory()) return `${name}/`;
  if (!entry.isSymbolicLink()) return name;
  const target = await readlink(join(folder, entry.name)).catch(() => '?');
  const isFolder = await stat(join(folder, entry.name)).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  return `${name} -> ${printableName(target)}${isFolder && !target.endsWith('/') ? '/' : ''}`;
}

/** The same order everywhere, whatever the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
