// The tool `find`: looks for files and folders by a glob, through ripgrep's list of files.
//
// Files that .gitignore excludes and .git are left out, hidden files are not. A folder is found if it holds at least one file that
// is not left out, and is shown with "/" at its end; an empty folder is not found (ls shows it). Order: by path.
import { distUrl } from '../core/package-root.js';
import type { NativeRun, Tool } from '../core/types.js';
import { printableName } from './files/paths.js';
import { compileGlob, type Glob } from './search/glob.js';
import { COMMON_ARGUMENTS, runRipgrep, unreadableNote } from './search/ripgrep.js';
import { pathInTarget, searchTarget, shownPath } from './search/target.js';
import { MAX_BYTES, utf8Length } from './text/truncate.js';

const DEFAULT_LIMIT = 1000;
const NUL = 0;

export const findTool: Tool = {
  name: 'find',
  description:
    'Find files and folders by name. A pattern without "/" is compared with the name, at any depth ("*.ts"); one with "/" with ' +
    'the path below the searched folder ("src/**/*.test.ts"). Folders end in "/". Respects .gitignore, includes hidden files, ' +
    `skips .git. At most ${DEFAULT_LIMIT} results, sorted by path.`,
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      pattern: {
        type: 'string',
        minLength: 1,
        description: 'Glob with *, ?, **, {a,b}, [ab]; "/" at its end: folders only',
      },
      path: { type: 'string', minLength: 1, description: 'Folder to search; the working folder when absent' },
      limit: { type: 'integer', minimum: 1, description: `Number of results; ${DEFAULT_LIMIT} when absent` },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  readOnly: true,
  module: distUrl('tools/find'),
};

export const run: NativeRun = async (input, call) => {
  const { pattern, path = '.', limit = DEFAULT_LIMIT } = input as { pattern: string; path?: string; limit?: number };
  const target = await searchTarget(path, call.cwd);
  if (!target.isFolder) throw new Error(`${printableName(path)} is a file, not a folder`);
  const glob = await compileGlob(pattern);
  const results: string[] = [];
  let bytes = 0;
  const accept = (found: string): boolean => {
    const shown = printableName(shownPath(found));
    if (results.length >= limit || bytes + utf8Length(shown) > MAX_BYTES) return false;
    bytes += utf8Length(shown) + 1;
    results.push(shown);
    return true;
  };
  const folders = new FolderWalk();
  const outcome = await runRipgrep([...COMMON_ARGUMENTS, '--files', '--null', '--', target.argument], {
    cwd: call.cwd,
    signal: call.signal,
    separator: NUL,
    onRecord: (file) => {
      const inside = pathInTarget(file, target);
      const prefix = file.slice(0, file.length - inside.length);
      const entered = folders.enter(inside).filter((folder) => glob.matches(folder));
      if (!entered.every((folder) => accept(`${prefix}${folder}/`))) return false;
      return !wantsFile(glob, inside) || accept(file);
    },
  });
  const notes: string[] = [];
  if (outcome.stopped)
    notes.push(`The first ${results.length} are shown; there are more: narrow the pattern or the path.`);
  const unreadable = unreadableNote(outcome.unreadable);
  if (unreadable !== '') notes.push(unreadable);
  const body = results.length === 0 ? '[nothing found]' : results.join('\n');
  return {
    content: notes.length > 0 ? `${body}\n\n[${notes.join(' ')}]` : body,
    details: { results: results.length, truncated: outcome.stopped },
  };
};

function wantsFile(glob: Glob, path: string): boolean {
  return !glob.foldersOnly && glob.matches(path);
}

/** Files come sorted by path, so a folder that differs from those around the last file is a new one. */
class FolderWalk {
  private current: readonly string[] = [];

  /** The folders around `file` that were not around the file before it, outermost first. */
  enter(file: string): string[] {
    const names = file.split('/').slice(0, -1);
    let common = 0;
    while (common < names.length && names[common] === this.current[common]) common++;
    this.current = names;
    return names.slice(common).map((_, i) => names.slice(0, common + i + 1).join('/'));
  }
}
