// Agent events as plain text that scrolls by: streamed text, one line for each tool call, what went wrong.
import type { AgentEvent, CallResult } from '../core/types.js';
import { cleanLine, cleanText, createCleaner } from './clean.js';
import type { Style } from './style.js';
import { failureOf, formatDuration, summarizeInput } from './tool-line.js';

const maxDisplayLines = 20;

/** Where text is printed that is safe to print, in pieces; a line may come in several. */
export interface Sink {
  write(text: string): void;
  /** Whether what is written next begins a line. */
  readonly atLineStart: boolean;
}

export interface TranscriptOptions {
  readonly sink: Sink;
  readonly style: Style;
  /** Stream the model's text (default), or leave it to somebody else. */
  readonly text?: boolean;
}

/** Turns the events of an Agent into text. One per interface; `onEvent` takes them in the order they were emitted. */
export class Transcript {
  readonly #options: TranscriptOptions;
  readonly #cleaner = createCleaner();
  /** What the calls that run were called with, by id. */
  readonly #calls = new Map<string, string>();
  /** The call whose line is still the last one and lacks its outcome. */
  #open: string | undefined;

  constructor(options: TranscriptOptions) {
    this.#options = options;
  }

  onEvent(event: AgentEvent): void {
    switch (event.type) {
      case 'delta':
        if (event.event.type === 'text' && this.#options.text !== false)
          this.#text(this.#cleaner.push(event.event.delta));
        break;
      case 'turn_end':
        this.#endText();
        if (event.stop === 'length') this.#warn('the answer is cut off: the model reached its limit of output');
        break;
      case 'tool_output':
        for (const line of cleanText(event.text).trimEnd().split('\n')) {
          this.line(this.#options.style.dim(`${cleanLine(event.name)}: ${line}`));
        }
        break;
      case 'tools_refused':
        for (const { reason } of event.refused) this.#warn(reason);
        break;
      case 'tool_call': {
        this.#endText();
        const label = `${cleanLine(event.name)} ${summarizeInput(event.input)}`.trimEnd();
        this.#calls.set(event.id, label);
        this.#write(this.#options.style.dim(`● ${label}`));
        this.#open = event.id;
        break;
      }
      case 'tool_result':
        this.#settled(event.id, event.name, event.result, event.endedMs - event.startedMs);
        break;
      case 'agent_end':
        this.#endText();
        this.#calls.clear();
        this.#ended(event);
        break;
    }
  }

  /** A whole line from elsewhere (a notice, a problem); whatever is half written is ended first. */
  line(text: string): void {
    this.#endText();
    this.#write(text);
    this.#newLine();
  }

  #settled(id: string, name: string, result: CallResult, ms: number): void {
    const { style } = this.#options;
    const failure = failureOf(result);
    const outcome =
      failure === undefined
        ? `${style.dim(formatDuration(ms))} ${style.green('ok')}`
        : `${style.dim(formatDuration(ms))} ${style.red(`error: ${failure}`)}`;
    if (this.#open === id && !this.#options.sink.atLineStart) {
      this.#open = undefined;
      this.#write(`  ${outcome}`);
    } else {
      this.#endText();
      this.#write(`${style.dim(`  ${this.#calls.get(id) ?? cleanLine(name)}`)}  ${outcome}`);
    }
    this.#newLine();
    this.#calls.delete(id);
    if (result.ok && result.display !== undefined) this.#display(result.display);
  }

  #display(markdown: string): void {
    const lines = cleanText(markdown).trimEnd().split('\n');
    for (const line of lines.slice(0, maxDisplayLines)) this.line(`  ${line}`);
    if (lines.length > maxDisplayLines) this.line(`  … ${lines.length - maxDisplayLines} more lines`);
  }

  #ended(event: Extract<AgentEvent, { type: 'agent_end' }>): void {
    const { style } = this.#options;
    if (event.reason === 'failed')
      this.line(style.red(`error: ${cleanLine(event.error?.message ?? 'the run failed')}`));
    if (event.reason === 'aborted') this.#warn('cancelled');
    if (event.reason === 'max_turns') this.#warn('stopped: too many turns ([agent] max_turns in the config)');
  }

  #warn(text: string): void {
    this.line(this.#options.style.yellow(cleanLine(text)));
  }

  #text(text: string): void {
    if (text === '') return;
    if (this.#open !== undefined) this.#newLine();
    this.#write(text);
  }

  /** Ends the half-written line, if there is one, whoever wrote it. */
  #endText(): void {
    const rest = this.#cleaner.end();
    if (rest !== '') this.#text(rest);
    this.#newLine();
  }

  #newLine(): void {
    this.#open = undefined;
    if (!this.#options.sink.atLineStart) this.#write('\n');
  }

  #write(text: string): void {
    this.#options.sink.write(text);
  }
}
