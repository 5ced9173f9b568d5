// What a terminal would show of a program's output, as plain text: no escape or control sequence survives, and a line
// that was redrawn (progress bars) is there once, as it looked last. Pure: strings in, strings out.
//
// Kept: tab, newline, every printable character. Understood within a line: carriage return, backspace, erase in line
// (CSI K, CSI J), and the cursor movements CSI C, D and G. All other sequences (colours, OSC links and titles, DCS,
// cursor movement between lines) and control characters, C1 included, are dropped.

/** A longer line is given out in pieces, so memory stays bounded; a later redraw cannot reach the earlier pieces. */
const MAX_PENDING = 64 * 1024;
/** A control string that has not ended by then is none. */
const MAX_SEQUENCE = 8 * 1024;
/** Cursor movements beyond this column are noise. */
const MAX_COLUMN = 4096;

const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;
const PRINTABLE = /[^\x00-\x08\x0a-\x1f\x7f-\x9f]+/y;
const CSI = /(?:\x1b\[|\x9b)([\x30-\x3f]*)[\x20-\x2f]*([\x40-\x7e])?/y;
const STRING = /(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c\n]*(?:\x07|\x9c|\x1b\\)?/y;
const ESCAPE = /\x1b[\x20-\x2f]*[\x30-\x7e]?/y;
const UNFINISHED =
  /(?:(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*|(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c\n]*\x1b?|\x1b[\x20-\x2f]*)$/y;

/** The cleaner for text that arrives in pieces; a sequence may be split anywhere between two of them. */
export class TerminalCleaner {
  /** The beginning of a sequence whose end has not arrived. */
  private carry = '';
  /** The line that is being written: text while nothing was redrawn, cells afterwards. */
  private text = '';
  private cells: string[] | undefined;
  private cursor = 0;
  /** A carriage return came last; if a newline follows, the line was not redrawn. */
  private returned = false;

  /** Takes the next piece and returns the lines that are finished by it, each with its newline. */
  push(piece: string): string {
    const input = this.carry + piece;
    this.carry = '';
    if (!this.cells && !this.returned && !CONTROLS.test(input)) return this.appendPlain(input);
    let out = '';
    let at = 0;
    while (at < input.length) {
      const run = match(PRINTABLE, input, at);
      if (run) {
        this.write(run[0]);
        at += run[0].length;
        out += this.overflow();
        continue;
      }
      const char = input[at] as string;
      if (char === '\n') {
        out += `${this.takeLine()}\n`;
        at++;
      } else if (char === '\x1b' || (char >= '\x80' && char <= '\x9f')) {
        if (input.length - at < MAX_SEQUENCE && match(UNFINISHED, input, at)) {
          this.carry = input.slice(at);
          break;
        }
        at += this.sequence(input, at);
      } else {
        if (char === '\r') this.returned = true;
        else if (char === '\b') this.moveTo(this.column() - 1);
        at++;
      }
    }
    return out;
  }

  /** The unfinished line as it looks now. */
  get pending(): string {
    return this.cells ? joinCells(this.cells) : this.text;
  }

  /** Ends the text: returns the unfinished line; what is left of an unfinished sequence is dropped. */
  end(): string {
    this.carry = '';
    return this.takeLine();
  }

  private appendPlain(input: string): string {
    const last = input.lastIndexOf('\n');
    if (last < 0) {
      this.text += input;
      return this.overflow();
    }
    const out = this.text + input.slice(0, last + 1);
    this.text = input.slice(last + 1);
    return out + this.overflow();
  }

  private overflow(): string {
    if ((this.cells ?? this.text).length <= MAX_PENDING) return '';
    return this.takeLine();
  }

  private takeLine(): string {
    const line = this.pending;
    this.text = '';
    this.cells = undefined;
    this.cursor = 0;
    this.returned = false;
    return line;
  }

  private write(run: string): void {
    if (this.returned) this.moveTo(0);
    if (!this.cells) {
      this.text += run;
      return;
    }
    while (this.cells.length < this.cursor) this.cells.push(' ');
    for (const char of run) this.cells[this.cursor++] = char;
  }

  private column(): number {
    if (this.returned) return 0;
    return this.cells ? this.cursor : [...this.text].length;
  }

  private moveTo(column: number): void {
    this.cells ??= [...this.text];
    this.text = '';
    this.returned = false;
    this.cursor = Math.max(0, column);
  }

  /** Acts on the sequence that begins at `at` and returns its length. */
  private sequence(input: string, at: number): number {
    const csi = match(CSI, input, at);
    if (csi) {
      if (csi[2]) this.control(csi[2], csi[1] ?? '');
      return csi[0].length;
    }
    return (match(STRING, input, at) ?? match(ESCAPE, input, at))?.[0].length ?? 1;
  }

  private control(final: string, parameters: string): void {
    const number = Number.parseInt(parameters, 10);
    const count = Math.min(Number.isNaN(number) ? 1 : Math.max(1, number), MAX_COLUMN);
    if (final === 'C') this.moveTo(this.column() + count);
    else if (final === 'D') this.moveTo(this.column() - count);
    else if (final === 'G') this.moveTo(count - 1);
    else if (final === 'K' || (final === 'J' && (parameters === '' || parameters === '0'))) {
      this.erase(Number.isNaN(number) ? 0 : number);
    }
  }

  private erase(part: number): void {
    const column = this.column();
    this.moveTo(column);
    const cells = this.cells as string[];
    if (part === 0) cells.length = Math.min(cells.length, column);
    else if (part === 1) cells.fill(' ', 0, column + 1);
    else if (part === 2) cells.length = 0;
  }
}

/** The whole of a text, cleaned; a lone surrogate becomes U+FFFD. */
export function cleanText(text: string): string {
  const cleaner = new TerminalCleaner();
  const cleaned = cleaner.push(text) + cleaner.end();
  return cleaned.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** Blanks that only cover what was there before are not part of the line. */
function joinCells(cells: readonly string[]): string {
  return cells.join('').trimEnd();
}

function match(pattern: RegExp, input: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(input);
}
