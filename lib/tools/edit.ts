// The tool `edit`: replaces passages of a text file and leaves every other byte as it is.
//
// Old texts are matched exactly, but for line ends: LF also matches CRLF, and what is put in gets the line ends of its place
// (edits/line-ends.ts). A byte order mark, tabs, the mode, links and hard links stay. A file that is not valid UTF-8 is refused,
// because writing it back would damage it. Links are followed, also out of the project; the link stays, its target is changed.
import { isUtf8 } from 'node:buffer';
import { distUrl } from '../core/package-root.js';
import type { NativeRun, Tool } from '../core/types.js';
import { toLineFeeds } from './edits/line-ends.js';
import { applyReplacements, type Edit, lineOf, planEdits } from './edits/plan.js';
import { refusal, SNIFF_BYTES, sniff } from './files/file-kind.js';
import { openRegular } from './files/open-regular.js';
import { printableName, resolvePath } from './files/paths.js';
import { replaceFile } from './files/replace-file.js';
import { formatBytes, plural, truncateHead } from './text/truncate.js';
import { checkStopped } from './types.js';

/** The file is held in memory a few times over. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** A diff of very many changes is not worth more time. */
const DIFF_TIMEOUT_MS = 1000;

interface EditInput extends Partial<Edit> {
  path: string;
  edits?: Edit[];
}

const texts = {
  old_text: {
    type: 'string',
    description: 'Text to replace, exactly as in the file, with enough lines around it to be there only once',
  },
  new_text: { type: 'string', description: 'Text to put in its place; empty to delete' },
  replace_all: { type: 'boolean', description: 'Replace every occurrence instead of exactly one' },
};

export const editTool: Tool = {
  name: 'edit',
  description:
    'Change a text file by replacing exact passages. Give several changes of one file as several edits of one call: ' +
    'each old_text is matched against the file as it was before the call, must be there exactly once, and must not overlap ' +
    'another. Either all edits are made or none. For a single change, old_text and new_text may be given without edits.',
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description: 'File to change: relative to the working folder, absolute, or ~/…',
      },
      edits: {
        type: 'array',
        minItems: 1,
        items: { type: 'object', properties: texts, required: ['old_text', 'new_text'], additionalProperties: false },
      },
      ...texts,
    },
    required: ['path'],
    additionalProperties: false,
  },
  locks: ['/path'],
  module: distUrl('tools/edit'),
};

export const run: NativeRun = async (input, call) => {
  const request = input as unknown as EditInput;
  const edits = requestedEdits(request);
  const shown = printableName(request.path);
  const path = resolvePath(request.path, call.cwd);
  const before = await readUtf8(path, request.path);
  const plan = await planEdits(before, edits, shown);
  if (!plan.ok) {
    const unchanged = edits.length > 1 ? '\nNothing was changed.' : '';
    return { content: `${plan.problems.join('\n')}${unchanged}`, isError: true };
  }
  const after = applyReplacements(before, plan.replacements);
  if (after === before) return { content: `The edits change nothing in ${shown}.`, isError: true };
  checkStopped(call.signal);
  await replaceFile(path, Buffer.from(after), request.path);
  const firstLine = lineOf(before, plan.replacements[0]?.start ?? 0);
  const diff = await unifiedDiff(shown, before, after);
  return {
    content: `Made ${plural(plan.replacements.length, 'replacement')} in ${shown}, the first in line ${firstLine}.`,
    display: diff === undefined ? `${shown}: too many changes to show` : fence(diff),
    details: { replacements: plan.replacements.length, first_line: firstLine, diff: diff ?? null },
  };
};

function requestedEdits(request: EditInput): Edit[] {
  const { edits = [], old_text, new_text, replace_all } = request;
  if (old_text === undefined && new_text === undefined) {
    if (edits.length === 0) throw new Error('nothing to do: give edits, or old_text and new_text');
    return edits;
  }
  if (old_text === undefined || new_text === undefined)
    throw new Error('old_text and new_text belong together: one is missing');
  return [...edits, { old_text, new_text, ...(replace_all === undefined ? {} : { replace_all }) }];
}

/** The text with its byte order mark, if it has one. */
async function readUtf8(path: string, given: string): Promise<string> {
  const shown = printableName(given);
  const { handle, stats } = await openRegular(path, given);
  try {
    if (stats.size > MAX_FILE_BYTES) {
      throw new Error(
        `${shown} has ${formatBytes(stats.size)}; edit takes up to ${formatBytes(MAX_FILE_BYTES)}: use bash (sed)`,
      );
    }
    const bytes = await handle.readFile();
    const kind = sniff(bytes.subarray(0, SNIFF_BYTES));
    if (kind.kind !== 'text') throw new Error(refusal(shown, kind));
    if (!isUtf8(bytes)) {
      throw new Error(
        `${shown} is not valid UTF-8 and would be damaged: convert it with bash (iconv) or change it with sed`,
      );
    }
    return bytes.toString('utf8');
  } finally {
    await handle.close();
  }
}

/** Undefined if it takes too long to find. Line ends are left out of it: they do not change, or nothing else could be seen. */
async function unifiedDiff(shown: string, before: string, after: string): Promise<string | undefined> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  const [from, to] = [toLineFeeds(before), toLineFeeds(after)];
  const texts = from === to ? [before, after] : [from, to];
  const patch = createTwoFilesPatch(shown, shown, texts[0] ?? '', texts[1] ?? '', undefined, undefined, {
    context: 3,
    timeout: DIFF_TIMEOUT_MS,
    headerOptions: FILE_HEADERS_ONLY,
  });
  if (patch === undefined) return undefined;
  const cut = truncateHead(patch);
  return cut.truncated ? `${cut.text}\n… (${cut.totalLines - cut.lines} more lines)` : cut.text;
}

/** As a Markdown code block, with a fence that the diff does not contain. */
function fence(diff: string): string {
  const longest = Math.max(2, ...(diff.match(/`{3,}/g) ?? []).map((ticks) => ticks.length));
  const ticks = '`'.repeat(longest + 1);
  return `${ticks}diff\n${diff}\n${ticks}`;
}
