// Line ends in edits: a text is matched with LF only, and what is put in gets the line ends of the place it goes to.

/** A text in which every CRLF is LF, and the way back to positions of the original. A CR by itself is an ordinary character. */
export interface LineFeedView {
  readonly text: string;
  /** Position in the original of a position in `text`; at a CRLF it is the one of its CR. */
  toOriginal(position: number): number;
}

export function lineFeedView(original: string): LineFeedView {
  const folded: number[] = [];
  for (let at = original.indexOf('\r\n'); at >= 0; at = original.indexOf('\r\n', at + 2)) {
    folded.push(at - folded.length);
  }
  return {
    text: toLineFeeds(original),
    toOriginal: (position) => position + countBelow(folded, position),
  };
}

export function toLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/**
 * `replacement` (LF only) with the line ends that it needs between `start` and `end` of `original`: a line that is there
 * already keeps the end it has, a changed or added line takes the one of the line it stands for, else of its neighbour.
 */
export async function adoptLineEnds(
  original: string,
  start: number,
  end: number,
  replacement: string,
): Promise<string> {
  if (!replacement.includes('\n')) return replacement;
  const { diffArrays } = await import('diff');
  const oldLines = splitRaw(original.slice(start, end));
  const parts = diffArrays(
    oldLines.map((line) => line.text),
    replacement.split('\n'),
  );
  let previous = oldLines.find((line) => line.end !== '')?.end ?? nearestEnd(original, start, end);
  let at = 0;
  let waiting: string[] = [];
  const out: string[] = [];
  for (const part of parts) {
    if (part.removed) {
      waiting = endsOf(oldLines.slice(at, at + part.value.length));
      at += part.value.length;
      continue;
    }
    for (const text of part.value) {
      const end = (part.added ? waiting.shift() : oldLines[at++]?.end) || previous;
      previous = end;
      out.push(text, end);
    }
    waiting = [];
  }
  // The last piece has no line end inside the passage.
  out.pop();
  return out.join('');
}

function splitRaw(raw: string): { text: string; end: string }[] {
  const pieces = raw.split('\n');
  return pieces.map((piece, i) => {
    if (i === pieces.length - 1) return { text: piece, end: '' };
    return piece.endsWith('\r') ? { text: piece.slice(0, -1), end: '\r\n' } : { text: piece, end: '\n' };
  });
}

function endsOf(lines: readonly { end: string }[]): string[] {
  return lines.map((line) => line.end).filter((end) => end !== '');
}

/** The line end behind the passage, else the one in front of it. */
function nearestEnd(original: string, start: number, end: number): string {
  const behind = original.indexOf('\n', end);
  const newline = behind >= 0 ? behind : original.lastIndexOf('\n', start - 1);
  return original[newline - 1] === '\r' ? '\r\n' : '\n';
}

/** How many numbers of a sorted list are below `limit`. */
function countBelow(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
