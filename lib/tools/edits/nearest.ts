// Finds the passage of a file that an edit probably meant, for its error message.

export interface Nearest {
  /** First line, counted from 1. */
  readonly line: number;
  readonly lines: readonly string[];
  /** Equal but for blanks (indentation, trailing blanks). */
  readonly onlyBlanks: boolean;
}

const MAX_LINE_CHARS = 500;
/** Comparisons of lines; beyond it the search looks at first lines only, then gives up. */
const MAX_WORK = 400_000;
const MIN_SCORE = 0.45;

/** The window of `text` that is most like `wanted`, or undefined if nothing is like it. Both have LF line ends. */
export function findNearest(text: string, wanted: string): Nearest | undefined {
  const lines = text.split('\n');
  const target = wanted.replace(/^\n+|\n+$/g, '').split('\n');
  const depth = Math.max(1, Math.min(target.length, Math.floor(MAX_WORK / lines.length)));
  if (lines.length > MAX_WORK) return undefined;
  const grams = target.slice(0, depth).map((line) => bigrams(line));
  const cache = new Map<string, Map<string, number>>();
  let best = { score: 0, line: 0 };
  for (let start = 0; start + 1 <= lines.length; start++) {
    let score = 0;
    for (let i = 0; i < depth; i++) {
      const line = lines[start + i];
      if (line === undefined) break;
      score += similarity(gramsOf(line, cache), grams[i] as Map<string, number>);
    }
    if (score > best.score) best = { score, line: start };
  }
  if (best.score / depth < MIN_SCORE) return undefined;
  const found = lines.slice(best.line, best.line + target.length);
  return { line: best.line + 1, lines: found, onlyBlanks: squeeze(found) === squeeze(target) };
}

function squeeze(lines: readonly string[]): string {
  return lines.map((line) => line.replaceAll(/\s+/g, '')).join('\n');
}

function gramsOf(line: string, cache: Map<string, Map<string, number>>): Map<string, number> {
  let grams = cache.get(line);
  if (!grams) {
    grams = bigrams(line);
    if (cache.size < 10_000) cache.set(line, grams);
  }
  return grams;
}

/** Pairs of characters with their counts; blanks do not matter. */
function bigrams(line: string): Map<string, number> {
  const text = line.slice(0, MAX_LINE_CHARS).replaceAll(/\s+/g, '');
  const grams = new Map<string, number>();
  for (let i = 0; i < Math.max(1, text.length - 1); i++) {
    const gram = text.slice(i, i + 2);
    if (gram !== '') grams.set(gram, (grams.get(gram) ?? 0) + 1);
  }
  return grams;
}

/** Dice's coefficient; two blank lines are a weak sign only. */
function similarity(a: Map<string, number>, b: Map<string, number>): number {
  if (a.size === 0 || b.size === 0) return a.size === b.size ? 0.5 : 0;
  let common = 0;
  for (const [gram, count] of a) common += Math.min(count, b.get(gram) ?? 0);
  return (2 * common) / (total(a) + total(b));
}

function total(grams: Map<string, number>): number {
  let sum = 0;
  for (const count of grams.values()) sum += count;
  return sum;
}
