// The person's terminal: one input line (node:readline) below text that scrolls. Text and typing never mix: while a line is
// being typed or a question is open, what is written waits, and comes when the line is sent, emptied or answered.
import { clearScreenDown, createInterface, cursorTo, type Interface } from 'node:readline';
import { Readable } from 'node:stream';
import { createPasteSplitter, disablePaste, enablePaste, PasteStore } from './paste.js';
import type { Sink } from './transcript.js';

export interface TerminalHandlers {
  /** A line was sent (pastes expanded). */
  line(text: string): void;
  /** Ctrl-C with nothing typed and no question open. */
  interrupt(): void;
  /** Ctrl-D at an empty line, or the terminal has gone. */
  end(): void;
}

interface OpenQuestion {
  readonly text: string;
  readonly prompt: string;
  settle(answer: string | undefined): void;
}

/** What readline reads from: the keys, without pastes; raw mode is that of the real terminal. */
class KeySource extends Readable {
  readonly isTTY = true;
  readonly #tty: NodeJS.ReadStream;

  constructor(tty: NodeJS.ReadStream) {
    super();
    this.#tty = tty;
  }
  get isRaw(): boolean {
    return this.#tty.isRaw;
  }
  setRawMode(mode: boolean): this {
    this.#tty.setRawMode(mode);
    return this;
  }
  override _read(): void {}
  /** Hands keys to readline at once, not in a later tick: what they did to the line must be known when this returns. */
  feed(keys: string): void {
    this.emit('data', keys);
  }
}

const inputPrompt = '> ';

export class Terminal implements Sink {
  readonly #output: NodeJS.WriteStream;
  readonly #input: NodeJS.ReadStream;
  readonly #dumb: boolean;
  readonly #readline: Interface;
  readonly #keys: KeySource;
  readonly #pastes = new PasteStore();
  readonly #handlers: TerminalHandlers;
  readonly #split = createPasteSplitter();
  readonly #onData = (chunk: string) => this.#receive(chunk);
  /** The input prompt is wanted although nothing is typed: no turn runs. */
  #idle = false;
  #promptShown = false;
  #held = '';
  #atLineStart = true;
  readonly #questions: OpenQuestion[] = [];
  /** What was typed when a question came, put back after it. */
  #typed = '';
  #closed = false;

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, handlers: TerminalHandlers, dumb: boolean) {
    this.#input = input;
    this.#output = output;
    this.#handlers = handlers;
    this.#dumb = dumb;
    this.#keys = new KeySource(input);
    this.#readline = createInterface({
      input: this.#keys,
      output,
      terminal: true,
      prompt: inputPrompt,
      historySize: 500,
    });
    this.#readline.on('line', (line) => this.#lineSent(line));
    this.#readline.on('SIGINT', () => this.#interrupted());
    this.#readline.on('close', () => this.#ended());
    this.#readline.on('history', (history: string[]) => {
      if (this.#questions.length > 0) history.shift();
    });
    input.setEncoding('utf8');
    input.on('data', this.#onData);
    input.once('end', () => this.#ended());
    input.once('error', () => this.#ended());
    if (!dumb) output.write(enablePaste);
  }

  /** Prints text that is safe to print. It may wait, see above. */
  write(text: string): void {
    if (text === '' || this.#closed) return;
    if (this.#questions.length > 0 || (this.#promptShown && this.#readline.line !== '')) this.#held += text;
    else this.#print(text);
  }

  get atLineStart(): boolean {
    if (this.#held !== '') return this.#held.endsWith('\n');
    return this.#promptShown || this.#atLineStart;
  }

  /** true: show the input prompt and wait for a line. false: something runs; what is typed then is shown when it begins. */
  setIdle(idle: boolean): void {
    this.#idle = idle;
    if (this.#questions.length > 0 || this.#closed) return;
    if (idle && !this.#promptShown) this.#showPrompt();
    if (!idle && this.#readline.line === '') this.#hidePrompt();
  }

  /**
   * Asks a question below `text`; questions queue. The answer is the line as typed, trimmed; undefined after Ctrl-C or
   * Ctrl-D, when the signal is aborted or the terminal closes.
   */
  ask(text: string, prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    if (this.#closed || signal?.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const withdraw = () => this.#answer(question, undefined, true);
      const question: OpenQuestion = {
        text,
        prompt,
        settle: (answer) => {
          signal?.removeEventListener('abort', withdraw);
          resolve(answer);
        },
      };
      signal?.addEventListener('abort', withdraw);
      this.#questions.push(question);
      if (this.#questions.length === 1) {
        this.#typed = this.#takeLine();
        this.#hidePrompt();
        this.#flushHeld();
        this.#showQuestion(question);
      }
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#typed = '';
    this.#ended();
  }

  #receive(chunk: string): void {
    for (const input of this.#split(chunk)) {
      if (this.#closed) return;
      const keys = input.kind === 'keys' ? input.text : this.#pastes.hold(input.text);
      if (!this.#promptShown && !/^[\x00-\x1f\x7f]/.test(keys)) this.#showPrompt();
      if (input.kind === 'keys') this.#keys.feed(keys);
      else this.#readline.write(keys);
    }
    if (this.#closed || this.#questions.length > 0 || !this.#promptShown || this.#readline.line !== '') return;
    if (this.#held === '' && this.#idle) return;
    this.#hidePrompt();
    this.#flushHeld();
    if (this.#idle) this.#showPrompt();
  }

  #lineSent(line: string): void {
    this.#promptShown = false;
    this.#atLineStart = true;
    const [question] = this.#questions;
    if (question) {
      this.#answer(question, line.trim(), false);
      return;
    }
    this.#flushHeld();
    this.#handlers.line(this.#pastes.expand(line));
    if (this.#idle && !this.#closed && !this.#promptShown && this.#questions.length === 0) this.#showPrompt();
  }

  #interrupted(): void {
    const [question] = this.#questions;
    if (question) {
      this.#answer(question, undefined, true);
    } else if (this.#readline.line !== '') {
      this.#takeLine();
      this.#hidePrompt();
      this.#flushHeld();
      if (this.#idle) this.#showPrompt();
    } else {
      this.#handlers.interrupt();
    }
  }

  #ended(): void {
    const [question] = this.#questions;
    if (this.#closed) return;
    this.#closed = true;
    for (const open of this.#questions.splice(0)) open.settle(undefined);
    if (question || this.#promptShown) this.#output.write('\n');
    this.#promptShown = false;
    this.#flushHeld();
    if (!this.#dumb) this.#output.write(disablePaste);
    this.#input.off('data', this.#onData);
    this.#input.pause();
    this.#readline.close();
    this.#handlers.end();
  }

  /** Ends a question; `open`: its line is still on the screen, unanswered. */
  #answer(question: OpenQuestion, answer: string | undefined, open: boolean): void {
    const at = this.#questions.indexOf(question);
    if (at === -1) return;
    if (at === 0 && open) {
      this.#takeLine();
      this.#output.write('\n');
      this.#promptShown = false;
    }
    this.#questions.splice(at, 1);
    question.settle(answer);
    if (at > 0) return;
    const [next] = this.#questions;
    if (next) {
      this.#showQuestion(next);
      return;
    }
    this.#readline.setPrompt(inputPrompt);
    this.#flushHeld();
    const typed = this.#typed;
    this.#typed = '';
    if (this.#idle || typed !== '') this.#showPrompt();
    if (typed !== '') this.#readline.write(typed);
  }

  #showQuestion(question: OpenQuestion): void {
    this.#endLine();
    if (question.text !== '') this.#print(`${question.text}\n`);
    this.#readline.setPrompt(question.prompt);
    this.#showPrompt();
  }

  #showPrompt(): void {
    this.#endLine();
    this.#promptShown = true;
    this.#readline.prompt(true);
  }

  /** Takes the prompt away; the line must be empty. */
  #hidePrompt(): void {
    if (!this.#promptShown) return;
    this.#promptShown = false;
    this.#atLineStart = !this.#dumb;
    if (this.#dumb) return;
    cursorTo(this.#output, 0);
    clearScreenDown(this.#output);
  }

  /** Empties the input line; gives what was in it. */
  #takeLine(): string {
    const { line } = this.#readline;
    if (line !== '') {
      this.#readline.write(null, { ctrl: true, name: 'e' });
      this.#readline.write(null, { ctrl: true, name: 'u' });
    }
    return line;
  }

  #flushHeld(): void {
    const text = this.#held;
    this.#held = '';
    if (text !== '') this.#print(text);
  }

  /** Prints now. A prompt with nothing typed gives way and comes back below. */
  #print(text: string): void {
    const again = this.#promptShown;
    this.#hidePrompt();
    if (!this.#atLineStart && this.#dumb && again) this.#output.write('\n');
    this.#output.write(text);
    this.#atLineStart = text.endsWith('\n');
    if (again && this.#idle) this.#showPrompt();
  }

  #endLine(): void {
    if (!this.#atLineStart) this.#output.write('\n');
    this.#atLineStart = true;
  }
}
