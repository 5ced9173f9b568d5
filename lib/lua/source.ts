// The panto-lua ToolSource: every call of a turn that targets a Lua tool arrives here as one batch.
import type { BatchContext, CallContent, CallResult, Json, ToolCall, ToolDecl, ToolSource } from '../core/types.js';
import { type Abortable, AbortWatch } from './abort-watch.js';
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
export class OpenCall implements Abortable {
  /** Names it to the Lua thread. */
  token = 0;
  #settled = false;
  #begun = false;

  constructor(
    readonly call: ToolCall,
    readonly index: number,
    readonly batch: OpenBatch,
  ) {}

  get signal(): AbortSignal {
    return this.call.signal;
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  /** Its signal has been aborted. */
  handleEvent(): void {
    this.batch.thread.cancel(this.token, isTimeout(this.signal));
  }

  started(at: number): void {
    if (this.#begun || this.#settled) return;
    this.#begun = true;
    this.batch.context.started(this.index, at);
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
    this.batch.settled(this, result, at);
  }
}

/** A batch until its last call has settled. */
class OpenBatch {
  readonly settledAll: Promise<void>;
  #open: number;
  #resolve: () => void = () => {};

  constructor(
    readonly context: BatchContext,
    readonly thread: LuaThread,
    readonly watch: AbortWatch,
    size: number,
  ) {
    this.#open = size;
    this.settledAll = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (size === 0) this.#resolve();
  }

  settled(call: OpenCall, result: CallResult, at?: number): void {
    this.context.settled(call.index, result, at);
    this.watch.settled(call);
    this.#open -= 1;
    if (this.#open === 0) this.#resolve();
  }
}

export class LuaToolSource implements ToolSource {
  readonly name = 'panto-lua';
  readonly #thread: LuaThread;
  readonly #watch = new AbortWatch();

  constructor(thread: LuaThread) {
    this.#thread = thread;
  }

  get tools(): readonly ToolDecl[] {
    return this.#thread.tools.list();
  }

  async invokeBatch(calls: readonly ToolCall[], context: BatchContext): Promise<void> {
    const batch = new OpenBatch(context, this.#thread, this.#watch, calls.length);
    const opened = calls.map((call, index) => new OpenCall(call, index, batch));
    const first = this.#thread.start(opened, context.serial);
    for (const call of opened) {
      call.token = first + call.index;
      this.#watch.add(call);
    }
    await batch.settledAll;
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
