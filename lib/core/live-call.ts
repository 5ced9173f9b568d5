// One tool call from the model's message to its result. Invariant: it settles exactly once, whatever happens around it.
import { CallAbort } from './abort.js';
import { type ParsedArguments, parseArguments } from './arguments.js';
import { now } from './clock.js';
import { failure, isCallContent, isCallResult } from './results.js';
import type { CallContent, CallResult, ToolCall } from './types.js';

/** How long a call that was aborted may take to settle by itself: an aborted call settles within a second. */
const SETTLE_GRACE_MS = 900;

/** Longer delays overflow Node's timers. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A call as it was asked for. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  /** Text, as it came. */
  readonly input: string;
  readonly parsed: ParsedArguments;
}

export function requestCall(id: string, name: string, input: string): RequestedCall {
  return { id, name, input, parsed: parseArguments(input) };
}

export interface Settled {
  readonly result: CallResult;
  readonly startedMs: number;
  readonly endedMs: number;
}

export class LiveCall implements ToolCall {
  readonly id: string;
  readonly toolName: string;
  readonly owner: string;
  /** Resolves with the first result; never rejects. */
  readonly settled: Promise<Settled>;

  #input: string;
  #parsed: ParsedArguments;
  readonly #timeoutMs: number;
  readonly #onUpdate: (partial: CallContent) => void;
  readonly #controller = new AbortController();
  #resolve: (settled: Settled) => void = () => {};
  #isSettled = false;
  #partial: CallContent | undefined;
  #startedMs: number | undefined;
  /** performance.now() when the deadline passes; undefined before the clock runs. */
  #deadline: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  /** How many hold the clock, and since when. */
  #pauses = 0;
  #pausedAt = 0;

  constructor(options: {
    request: RequestedCall;
    owner: string;
    /** 0 = none. */
    timeoutMs: number;
    onUpdate: (partial: CallContent) => void;
  }) {
    this.id = options.request.id;
    this.toolName = options.request.name;
    this.owner = options.owner;
    this.#input = options.request.input;
    this.#parsed = options.request.parsed;
    this.#timeoutMs = options.timeoutMs;
    this.#onUpdate = options.onUpdate;
    this.settled = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** JSON text; changes until the gates are through. */
  get input(): string {
    return this.#input;
  }

  /** What `input` says. */
  get parsed(): ParsedArguments {
    return this.#parsed;
  }

  replaceInput(text: string): void {
    this.#input = text;
    this.#parsed = parseArguments(text);
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get deadline(): number {
    if (this.#timeoutMs === 0) return Number.POSITIVE_INFINITY;
    const at = performance.now();
    if (this.#deadline === undefined) return at + this.#timeoutMs;
    return this.#pauses > 0 ? this.#deadline + at - this.#pausedAt : this.#deadline;
  }

  /** Handed to whoever runs it: the deadline's clock begins. */
  handOver(): void {
    if (this.#deadline !== undefined || this.#isSettled) return;
    this.#deadline = performance.now() + this.#timeoutMs;
    this.#pausedAt = performance.now();
    this.#startedMs ??= now();
    this.#setTimer();
  }

  /** Its handler begins at this stamp. */
  started(at: number = now()): void {
    this.#startedMs = at;
    this.handOver();
  }

  /** Each update takes the place of the one before; the last is kept for a call that fails. */
  update(partial: CallContent): void {
    if (this.#isSettled || !isCallContent(partial)) return;
    this.#partial = partial;
    this.#onUpdate(partial);
  }

  /** Stops the deadline's clock until the returned function is called. */
  pauseDeadline(): () => void {
    if (this.#pauses++ === 0) {
      this.#pausedAt = performance.now();
      clearTimeout(this.#timer);
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      if (--this.#pauses > 0 || this.#deadline === undefined) return;
      this.#deadline += performance.now() - this.#pausedAt;
      this.#setTimer();
    };
  }

  /** Ends it: at once where nothing runs yet, else it has a moment to settle by itself. */
  abort(kind: 'cancelled' | 'timeout'): void {
    if (this.#isSettled || this.signal.aborted) return;
    this.#controller.abort(new CallAbort(kind, kind === 'timeout' ? this.#timeoutText() : 'cancelled'));
    if (this.#deadline === undefined) this.settleAborted();
    else this.#grace = setTimeout(() => this.settleAborted(), SETTLE_GRACE_MS);
  }

  /** Settles a call that was aborted, with what it had said until then. */
  settleAborted(partial?: CallContent): void {
    const { kind, message } = this.signal.reason as CallAbort;
    this.settle(failure(kind, message, { where: this.toolName, partial }));
  }

  /** The first result wins. `at` is a stamp of the common clock. */
  settle(result: CallResult, at: number = now()): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#grace);
    this.#resolve({ result: this.#checked(result), startedMs: this.#startedMs ?? at, endedMs: at });
  }

  #checked(result: CallResult): CallResult {
    if (!isCallResult(result)) {
      return failure('source_failed', 'it settled with a value that is no result', { where: this.owner });
    }
    if (result.ok || result.partial !== undefined || this.#partial === undefined) return result;
    return { ...result, partial: this.#partial };
  }

  #setTimer(): void {
    if (this.#pauses > 0 || this.#isSettled || this.signal.aborted || this.#deadline === undefined) return;
    const left = Math.max(0, this.#deadline - performance.now());
    if (this.#timeoutMs === 0 || left > MAX_TIMER_MS) return;
    this.#timer = setTimeout(() => this.abort('timeout'), left);
  }

  #timeoutText(): string {
    return `timed out after ${this.#timeoutMs / 1000} s`;
  }
}
