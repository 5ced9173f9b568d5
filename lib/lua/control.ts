// Calls of the runtime's control functions (evaluate, activate, command …): one promise each, cancelled by signal or by a time
// limit. A call whose Lua code does not come back is given up; whoever calls next waits a while for the thread.
import type { CallError, Json } from '../core/types.js';
import type { NativeRuntime } from './addon.js';
import { LuaError, parseCallError } from './errors.js';

export interface TimeLimit {
  /** 0: none. */
  readonly ms: number;
  /** What took too long. */
  readonly what: string;
  /** The key of config.toml that sets the limit. */
  readonly key: string;
}

export interface ControlOptions {
  readonly signal?: AbortSignal | undefined;
  readonly limit?: TimeLimit;
  /** Called when a call that was given up has worked after all. */
  readonly undo?: () => void;
}

interface OpenRequest {
  resolve(value: Json): void;
  reject(error: LuaError): void;
  /** Why it was cancelled. */
  stopped: CallError | undefined;
  timer: NodeJS.Timeout | undefined;
  undo: (() => void) | undefined;
}

/** A cancelled call that has not settled after that long is in C code: the hard stop comes 500 ms after the cancel. */
const giveUpMs = 1000;
/** How long a call waits for a thread on which an earlier one was given up. */
const threadLimitMs = 30_000;
/** Longer delays overflow Node's timers. */
const maxTimerMs = 2 ** 31 - 1;

export class ControlCalls {
  readonly #native: Pick<NativeRuntime, 'control' | 'cancel'>;
  readonly #nextToken: () => number;
  readonly #open = new Map<number, OpenRequest>();
  /** Given up, and still on the Lua thread. */
  readonly #lost = new Map<number, OpenRequest>();
  readonly #waiting = new Set<(error?: LuaError) => void>();

  constructor(native: Pick<NativeRuntime, 'control' | 'cancel'>, nextToken: () => number) {
    this.#native = native;
    this.#nextToken = nextToken;
  }

  /** How many have not settled. */
  get size(): number {
    return this.#open.size;
  }

  /** Rejects with a LuaError of one line; of kind "timeout" when the limit has passed. */
  async call(name: string, args: Json, { signal, limit, undo }: ControlOptions = {}): Promise<Json> {
    if (limit !== undefined && this.#lost.size > 0) await this.#threadIsBack();
    const token = this.#nextToken();
    let abort = () => {};
    try {
      return await new Promise<Json>((resolve, reject) => {
        const request: OpenRequest = { resolve, reject, stopped: undefined, timer: undefined, undo };
        abort = () => this.#stop(token, request, { kind: 'cancelled', message: 'cancelled' });
        if (limit !== undefined && limit.ms > 0) {
          const stop = () => this.#stop(token, request, timeoutError(limit));
          request.timer = setTimeout(stop, Math.min(limit.ms, maxTimerMs));
        }
        this.#open.set(token, request);
        this.#native.control(token, 0, name, JSON.stringify(args));
        if (signal?.aborted) abort();
        else signal?.addEventListener('abort', abort, { once: true });
      });
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** The Lua thread has settled a task. Returns whether it was a control call. */
  settle(token: number, isError: boolean, body: string): boolean {
    const late = this.#lost.get(token);
    if (late !== undefined) {
      this.#lost.delete(token);
      if (!isError) late.undo?.();
      if (this.#lost.size === 0) for (const go of this.#waiting) go();
      return true;
    }
    const request = this.#open.get(token);
    if (request === undefined) return false;
    this.#close(token, request);
    if (!isError) request.resolve(JSON.parse(body) as Json);
    else request.reject(toError(request, body));
    return true;
  }

  /** The runtime ends. */
  rejectAll(error: LuaError): void {
    for (const [token, request] of this.#open) {
      this.#close(token, request);
      request.reject(error);
    }
    for (const go of this.#waiting) go(error);
  }

  #close(token: number, request: OpenRequest): void {
    clearTimeout(request.timer);
    this.#open.delete(token);
  }

  /** Cancels it; where that does not help, gives it up. */
  #stop(token: number, request: OpenRequest, why: CallError): void {
    if (request.stopped !== undefined) return;
    request.stopped = why;
    clearTimeout(request.timer);
    this.#native.cancel(token, why.kind === 'timeout');
    request.timer = setTimeout(() => {
      this.#close(token, request);
      this.#lost.set(token, request);
      request.reject(new LuaError({ ...why, message: `${why.message}; it is in C code, which cannot be stopped` }));
    }, giveUpMs);
  }

  #threadIsBack(): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = (error?: LuaError) => {
        clearTimeout(timer);
        this.#waiting.delete(go);
        if (error === undefined) resolve();
        else reject(error);
      };
      const timer = setTimeout(
        () => go(new LuaError({ kind: 'failed', message: 'not run: C code of another extension blocks Lua' })),
        threadLimitMs,
      );
      this.#waiting.add(go);
    });
  }
}

/** The reason is ours, the place Lua's. */
function toError({ stopped }: OpenRequest, body: string): LuaError {
  const error = parseCallError(body);
  return new LuaError(error.kind === stopped?.kind ? { ...error, message: stopped.message } : error);
}

function timeoutError({ ms, what, key }: TimeLimit): CallError {
  return { kind: 'timeout', message: `timeout: ${what} took longer than ${ms / 1000} s (${key})` };
}
