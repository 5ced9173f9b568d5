// Turns the edits of one call into replacements of the original text, all or none of them.
//
// Every old text is looked for in the ORIGINAL, must be there once (or `replace_all` is set), and no two may overlap.

import { truncateLine } from '../text/truncate.js';
import { adoptLineEnds, type LineFeedView, lineFeedView, toLineFeeds } from './line-ends.js';
import { findNearest } from './nearest.js';

const MAX_EXCERPT_LINES = 40;
const MAX_EXCERPT_CHARS = 300;

export interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean;
}

/** A span of the original (UTF-16 positions) and the text that takes its place. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type Plan =
  | { readonly ok: true; readonly replacements: readonly Replacement[] }
  /** Each problem names its edit. */
  | { readonly ok: false; readonly problems: readonly string[] };

interface Found {
  readonly edit: Edit;
  readonly label: string;
  readonly start: number;
  readonly end: number;
}

/** `shown` is the file's name for messages. */
export async function planEdits(original: string, edits: readonly Edit[], shown: string): Promise<Plan> {
  const view = lineFeedView(original);
  const problems: string[] = [];
  const found: Found[] = [];
  for (const [i, edit] of edits.entries()) {
    const label = edits.length === 1 ? 'old_text' : `edits[${i}].old_text`;
    const places = locate(view.text, edit, label, shown);
    if (typeof places === 'string') problems.push(places);
    else for (const start of places) found.push({ edit, label, start, end: start + toLineFeeds(edit.old_text).length });
  }
  found.sort((a, b) => a.start - b.start);
  for (const [i, next] of found.entries()) {
    const before = found[i - 1];
    if (before && next.start < before.end) {
      problems.push(
        `${before.label} and ${next.label} overlap in line ${lineOf(view.text, next.start)}: join them into one edit`,
      );
    }
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, replacements: await Promise.all(found.map((place) => replacement(original, view, place))) };
}

export function applyReplacements(original: string, replacements: readonly Replacement[]): string {
  const out: string[] = [];
  let at = 0;
  for (const { start, end, text } of replacements) {
    out.push(original.slice(at, start), text);
    at = end;
  }
  out.push(original.slice(at));
  return out.join('');
}

/** Line of a position, counted from 1. */
export function lineOf(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** Where the old text is in the view; a text: what is wrong. */
function locate(text: string, edit: Edit, label: string, shown: string): number[] | string {
  const wanted = toLineFeeds(edit.old_text);
  if (wanted === '') return `${label} is empty: give the text to replace, or use write for a new file`;
  if (edit.old_text === edit.new_text) return `${label} and its new_text are the same: there is nothing to change`;
  // Overlapping occurrences count too: "aa" in "aaa" would be a guess.
  const places = occurrences(text, wanted, edit.replace_all ? wanted.length : 1);
  if (places.length === 0) return notFound(text, wanted, label, shown);
  if (places.length > 1 && !edit.replace_all) {
    const lines = places.slice(0, 10).map((place) => lineOf(text, place));
    const more = places.length > 10 ? ', …' : '';
    return `${label} is in ${shown} ${places.length} times (lines ${lines.join(', ')}${more}): add lines around it to make it unique, or set replace_all`;
  }
  return places;
}

function occurrences(text: string, wanted: string, step: number): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + step)) places.push(at);
  return places;
}

function notFound(text: string, wanted: string, label: string, shown: string): string {
  const nearest = findNearest(text, wanted);
  if (!nearest) return `${label} was not found in ${shown}, nor anything like it: read the file again`;
  const last = nearest.line + nearest.lines.length - 1;
  const where = last > nearest.line ? `lines ${nearest.line}-${last}` : `line ${nearest.line}`;
  const hint = nearest.onlyBlanks ? 'They differ in blanks only (indentation, tabs, trailing blanks). ' : '';
  return `${label} was not found in ${shown}. ${hint}The nearest is ${where}:\n${excerpt(nearest.lines)}`;
}

function excerpt(lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_EXCERPT_LINES).map((line) => truncateLine(line, MAX_EXCERPT_CHARS));
  return [...shown, ...(lines.length > shown.length ? ['…'] : [])].join('\n');
}

async function replacement(original: string, view: LineFeedView, place: Found): Promise<Replacement> {
  const start = view.toOriginal(place.start);
  const end = view.toOriginal(place.end);
  const { old_text, new_text } = place.edit;
  if (view.text.length < original.length) {
    return { start, end, text: await adoptLineEnds(original, start, end, toLineFeeds(new_text)) };
  }
  // A file without CRLF: CRLF in both texts is a slip, in the new text alone it is meant.
  return { start, end, text: old_text.includes('\r\n') ? toLineFeeds(new_text) : new_text };
}
