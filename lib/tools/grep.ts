// The tool `grep`: searches file contents with ripgrep.
//
// Lines come as `path:line:text`, lines of context as `path-line-text`, groups of them are separated by `--`. Files that
// .gitignore excludes, .git and binary files are left out, hidden files are not. See search/glob.ts for globs.
import { distUrl } from '../core/package-root.js';
import type { NativeRun, Tool } from '../core/types.js';
import { printableName } from './files/paths.js';
import { compileGlob, nameGlob } from './search/glob.js';
import { COMMON_ARGUMENTS, runRipgrep, unreadableNote } from './search/ripgrep.js';
import { pathInTarget, type SearchTarget, searchTarget, shownPath } from './search/target.js';
import { MAX_BYTES, truncateLine, utf8Length } from './text/truncate.js';
import type { NativeResult } from './types.js';

const DEFAULT_LIMIT = 100;
const MAX_LINE_CHARS = 500;
const NEWLINE = 0x0a;
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f-\x9f]/g;

interface GrepInput {
  pattern: string;
  path?: string;
  glob?: string;
  ignore_case?: boolean;
  literal?: boolean;
  context?: number;
  limit?: number;
}

export const grepTool: Tool = {
  name: 'grep',
  description:
    'Search the contents of files for a regular expression (ripgrep syntax, also look-around and back-references). Returns ' +
    '"path:line:text". Respects .gitignore, includes hidden files, skips .git and binary files. ' +
    `At most ${DEFAULT_LIMIT} matching lines, each cut after ${MAX_LINE_CHARS} characters.`,
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      pattern: { type: 'string', minLength: 1, description: 'Regular expression, or plain text with literal' },
      path: { type: 'string', minLength: 1, description: 'Folder or file to search; the working folder when absent' },
      glob: { type: 'string', minLength: 1, description: 'Only these files, such as "*.ts" or "src/**/*.{js,ts}"' },
      ignore_case: { type: 'boolean', description: 'Upper and lower case are the same' },
      literal: { type: 'boolean', description: 'The pattern is plain text' },
      context: { type: 'integer', minimum: 0, maximum: 100, description: 'Lines to show before and after each match' },
      limit: { type: 'integer', minimum: 1, description: `Matching lines to return; ${DEFAULT_LIMIT} when absent` },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  readOnly: true,
  module: distUrl('tools/grep'),
};

export const run: NativeRun = async (input, call) => {
  const request = input as unknown as GrepInput;
  const target = await searchTarget(request.path ?? '.', call.cwd);
  const glob = request.glob === undefined ? undefined : await compileGlob(request.glob);
  const collector = new Collector(request.limit ?? DEFAULT_LIMIT, request.context ?? 0, (path) => {
    return !glob || (!glob.foldersOnly && glob.matches(pathInTarget(path, target)));
  });
  const outcome = await runRipgrep(grepArguments(request, target), {
    cwd: call.cwd,
    signal: call.signal,
    separator: NEWLINE,
    onRecord: (record) => collector.add(record),
  });
  return collector.result(unreadableNote(outcome.unreadable));
};

function grepArguments(request: GrepInput, target: SearchTarget): string[] {
  const { pattern, glob, ignore_case, literal, context = 0 } = request;
  const name = glob === undefined ? undefined : nameGlob(glob);
  const hasNewline = pattern.includes('\n') || (!literal && pattern.includes('\\n'));
  return [
    ...COMMON_ARGUMENTS,
    '--no-heading',
    '--with-filename',
    '--line-number',
    '--null',
    '--crlf',
    '--engine=auto',
    // In bytes: never less than MAX_LINE_CHARS characters.
    `--max-columns=${4 * MAX_LINE_CHARS}`,
    '--max-columns-preview',
    `--context=${context}`,
    ...(name === undefined ? [] : [`--type-add=wanted:${name}`, '--type=wanted']),
    ...(ignore_case ? ['--ignore-case'] : ['--case-sensitive']),
    ...(literal ? ['--fixed-strings'] : []),
    ...(hasNewline ? ['--multiline'] : []),
    '--regexp',
    pattern,
    '--',
    target.argument,
  ];
}

/** Takes ripgrep's lines until a limit is met. */
class Collector {
  private readonly lines: string[] = [];
  private readonly files = new Set<string>();
  private bytes = 0;
  private matches = 0;
  private cutLines = 0;
  /** Lines of context still to come behind the last match that is allowed. */
  private closing: number | undefined;
  private full: 'matches' | 'bytes' | undefined;

  constructor(
    private readonly limit: number,
    private readonly context: number,
    private readonly wants: (path: string) => boolean,
  ) {}

  /** False: nothing more is needed. */
  add(record: string): boolean {
    // With --crlf ripgrep ends this line, too, with CRLF.
    if (record === '--' || record === '--\r') return this.separate();
    const parsed = /^([^\0]*)\0(\d+)([:-])(.*)$/s.exec(record);
    // ripgrep's own remarks, such as "binary file matches", have no line number.
    if (!parsed) return true;
    const [, path = '', line = '', kind = ':', text = ''] = parsed;
    if (!this.wants(path)) return true;
    const isMatch = kind === ':';
    if (isMatch && this.matches >= this.limit) return this.stop('matches');
    if (!isMatch && this.closing !== undefined && this.closing-- <= 0) return true;
    const clean = text.replace(/\r$/, '').replaceAll(CONTROLS, '\ufffd');
    const short = truncateLine(clean, MAX_LINE_CHARS);
    const shown = `${printableName(shownPath(path))}${kind}${line}${kind}${short}`;
    if (this.bytes + utf8Length(shown) > MAX_BYTES) return this.stop('bytes');
    this.push(shown);
    if (short !== clean) this.cutLines++;
    if (!isMatch) return true;
    this.matches++;
    this.files.add(path);
    if (this.matches === this.limit) this.closing = this.context;
    return true;
  }

  result(note: string): NativeResult {
    while (this.lines.at(-1) === '--') this.lines.pop();
    const notes: string[] = [];
    if (this.full === 'matches') {
      notes.push(
        `Only the first ${this.matches} matching lines are shown; there are more: narrow the search or raise limit.`,
      );
    }
    if (this.full === 'bytes') notes.push(`Stopped at ${MAX_BYTES / 1024} kB; there is more: narrow the search.`);
    if (this.cutLines > 0) notes.push('Long lines are cut; read shows them.');
    if (note !== '') notes.push(note);
    const body = this.lines.length === 0 ? '[no matches]' : this.lines.join('\n');
    return {
      content: notes.length > 0 ? `${body}\n\n[${notes.join(' ')}]` : body,
      details: { matches: this.matches, files: this.files.size, truncated: this.full !== undefined },
    };
  }

  private separate(): boolean {
    if (this.closing !== undefined) this.closing = 0;
    if (this.lines.length > 0 && this.lines.at(-1) !== '--') this.push('--');
    return true;
  }

  private push(line: string): void {
    this.lines.push(line);
    this.bytes += utf8Length(line) + 1;
  }

  private stop(why: 'matches' | 'bytes'): false {
    this.full = why;
    return false;
  }
}
