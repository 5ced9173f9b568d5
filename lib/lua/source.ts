// The panto-lua ToolSource: every call of a turn that targets a Lua tool arrives here as one batch.
import type { BatchContext, CallContent, CallResult, Json, ToolCall, ToolDecl, ToolSource } from '../core/types.js';
import { EventKind } from './addon.js';
import { parseCallError } from './errors.js';
import type { ToolTable } from './tool-table.js';

/** What a handler may return as a table; api: panto.ResultTable. */
interface ResultTable {
  readonly content?: unknown;
  readonly display?: string;
  readonly details?: Json;
  readonly is_error?: boolean;
}

interface LuaThread {
  readonly tools: ToolTable;
  /** Hands the calls over; returns the token of the first, the others count up. */
  start(calls: readonly OpenCall[], serial: boolean): number;
  cancel(token: number, isTimeout: boolean): void;
  prepare(calls: readonly { tool: string; input: string }[]): Promise<readonly string[]>;
}

function isPart(part: unknown): boolean {
  const { type, text, data, mime } = part as { type?: unknown; text?: unknown; data?: unknown; mime?: unknown };
  if (type === 'text') return typeof text === 'string';
  return type === 'image' && typeof data === 'string' && typeof mime === 'string';
}

function isContent(content: unknown): content is CallContent {
  return typeof content === 'string' || (Array.isArray(content) && content.every((part) => part && isPart(part)));
}

function toResult(table: ResultTable): CallResult {
  const content = table.content ?? '';
  if (!isContent(content)) {
    const message =
      'result.content must be a string or a list of { type = "text", text } and { type = "image", data, mime }';
    return { ok: false, error: { kind: 'failed', message } };
  }
  return {
    ok: true,
    content,
    ...(table.is_error === true && { isError: true }),
    ...(typeof table.display === 'string' && { display: table.display }),
    ...(table.details !== undefined && { details: table.details }),
  };
}

/** A call that the Lua thread works on. Settles once; what comes later is dropped. */
export class OpenCall {
  #settled = false;
  #begun = false;

  constructor(
    readonly call: ToolCall,
    readonly index: number,
    readonly batch: BatchContext,
    readonly done: () => void,
  ) {}

  started(at: number): void {
    if (this.#begun || this.#settled) return;
    this.#begun = true;
    this.batch.started(this.index, at);
  }

  update(json: string): void {
    if (this.#settled) return;
    const partial = JSON.parse(json) as string | ResultTable;
    const content = typeof partial === 'string' ? partial : partial.content;
    if (isContent(content)) this.call.update(content);
  }

  /** An event of the Lua thread that ends the call. */
  finish(kind: number, body: string, startedMs: number, endedMs: number): void {
    this.started(startedMs);
    if (kind === EventKind.settledText) this.settle({ ok: true, content: body }, endedMs);
    else if (kind === EventKind.settledJson) this.settle(toResult(JSON.parse(body) as ResultTable), endedMs);
    else this.settle({ ok: false, error: parseCallError(body) }, endedMs);
  }

  settle(result: CallResult, at?: number): void {
    if (this.#settled) return;
    this.#settled = true;
    this.batch.settled(this.index, result, at);
    this.done();
  }
}

export class LuaToolSource implements ToolSource {
  readonly name = 'panto-lua';
  readonly #thread: LuaThread;

  constructor(thread: LuaThread) {
    this.#thread = thread;
  }

  get tools(): readonly ToolDecl[] {
    return this.#thread.tools.list();
  }

  invokeBatch(calls: readonly ToolCall[], batch: BatchContext): Promise<void> {
    return new Promise((resolve) => {
      let open = calls.length;
      if (open === 0) resolve();
      const aborts: (() => void)[] = [];
      const opened = calls.map((call, index) => {
        return new OpenCall(call, index, batch, () => {
          const abort = aborts[index];
          if (abort !== undefined) call.signal.removeEventListener('abort', abort);
          open -= 1;
          if (open === 0) resolve();
        });
      });
      const first = this.#thread.start(opened, batch.serial);
      for (const [index, call] of calls.entries()) {
        const abort = () => this.#thread.cancel(first + index, isTimeout(call.signal));
        aborts[index] = abort;
        if (call.signal.aborted) abort();
        else call.signal.addEventListener('abort', abort, { once: true });
      }
    });
  }

  async prepare(calls: readonly { toolName: string; input: string }[]): Promise<readonly string[]> {
    const repairing = calls.some(({ toolName }) => this.#thread.tools.get(toolName)?.prepares === true);
    if (!repairing) return calls.map(({ input }) => input);
    return await this.#thread.prepare(calls.map(({ toolName, input }) => ({ tool: toolName, input })));
  }

  /** The runtime owns the thread and outlives the agent. */
  async dispose(): Promise<void> {}
}

function isTimeout(signal: AbortSignal): boolean {
  const reason: unknown = signal.reason;
  return reason === 'timeout' || (reason as { kind?: unknown } | undefined)?.kind === 'timeout';
}
