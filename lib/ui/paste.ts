// Bracketed paste: what was pasted reaches the line editor as one word, so that its newlines do not send half a prompt.
// Terminals that know CSI ? 2004 wrap a paste into CSI 200~ and CSI 201~.

export const enablePaste = '\x1b[?2004h';
export const disablePaste = '\x1b[?2004l';
const begin = '\x1b[200~';
const end = '\x1b[201~';

/** The keys of one read, in order, and the texts that were pasted between them. */
export type Input =
  | { readonly kind: 'keys'; readonly text: string }
  | { readonly kind: 'paste'; readonly text: string };

/** Splits what the terminal sends; a paste that comes in several reads is given once, when its end has come. */
export function createPasteSplitter(): (chunk: string) => Input[] {
  let pasted: string | undefined;
  /** The beginning of a mark, cut by the border of two reads. */
  let pending = '';
  return (chunk) => {
    const inputs: Input[] = [];
    let rest = pending + chunk;
    pending = '';
    while (rest !== '') {
      const mark = pasted === undefined ? begin : end;
      const at = rest.indexOf(mark);
      const stop = at === -1 ? rest.length - (pasted === undefined ? 0 : cutMark(rest, mark)) : at;
      const text = rest.slice(0, stop);
      if (pasted !== undefined) pasted += text;
      else if (text !== '') inputs.push({ kind: 'keys', text });
      if (at === -1) {
        pending = rest.slice(stop);
        break;
      }
      rest = rest.slice(at + mark.length);
      if (pasted === undefined) pasted = '';
      else {
        inputs.push({ kind: 'paste', text: pasted.replace(/\r\n?/g, '\n') });
        pasted = undefined;
      }
    }
    return inputs;
  };
}

/** How many characters at the end of `text` may be the beginning of `mark`. */
function cutMark(text: string, mark: string): number {
  for (let length = mark.length - 1; length > 0; length--) if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}

/** Pastes of several lines stand in the input line as a short placeholder until it is sent. */
export class PasteStore {
  readonly #texts: string[] = [];

  /** What to put into the input line for this paste. */
  hold(text: string): string {
    const lines = text.replace(/\n+$/, '').split('\n').length;
    if (lines === 1) return text.replace(/\t/g, '  ').replace(/[\x00-\x1f\x7f]/g, '');
    this.#texts.push(text);
    return `[pasted #${this.#texts.length}: ${lines} lines]`;
  }

  /** The line with what was pasted in the place of its placeholders. */
  expand(line: string): string {
    return line.replace(
      /\[pasted #(\d+): \d+ lines\]/g,
      (placeholder, number) => this.#texts[Number(number) - 1] ?? placeholder,
    );
  }
}
