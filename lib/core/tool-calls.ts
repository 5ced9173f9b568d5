// The calls of one message to their results: admits them, runs them, tells how each went as it settles.
import { untilAborted } from './abort.js';
import { admitCalls } from './admit-calls.js';
import { now } from './clock.js';
import { LiveCall, type RequestedCall, type Settled } from './live-call.js';
import type { Locks } from './locks.js';
import type { ToolSet } from './registry.js';
import { errorMessage, failure, isCallResult, toResultPart } from './results.js';
import { runCalls } from './run-calls.js';
import type { AgentEvent, CallResult, Gates, ToolMessage, TurnEvent } from './types.js';
import { WorkerPool } from './worker-pool.js';

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_WORKERS = 4;

/** How long the gate of a result may take once the turn is aborted. */
const RESULT_GATE_GRACE_MS = 500;

type Stop = Extract<TurnEvent, { type: 'done' }>['stop'];

export interface ToolCallsOptions {
  readonly session: string;
  readonly cwd: string;
  readonly serial: boolean;
  readonly workers: number | undefined;
  readonly defaultTimeoutMs: number | undefined;
  readonly gates: Gates;
  readonly locks: Locks;
  readonly emit: (event: AgentEvent) => void;
}

export interface TurnContext {
  readonly tools: ToolSet;
  readonly turn: number;
  readonly signal: AbortSignal;
}

export class ToolCalls {
  readonly #options: ToolCallsOptions;
  readonly #live = new Map<string, LiveCall>();
  #pool: WorkerPool | undefined;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  /** The tool message that answers every call of a message, in order. */
  async answer(calls: readonly RequestedCall[], stop: Stop, context: TurnContext): Promise<ToolMessage> {
    const results = await this.run(calls, context, whyNotToRun(stop));
    return {
      role: 'tool',
      content: calls.map(({ id, name }, index) => toResultPart(id, name, results[index]!)),
    };
  }

  /** One result for each call, in order. With `refusal`, none is run and that is their result. */
  async run(calls: readonly RequestedCall[], context: TurnContext, refusal?: string): Promise<CallResult[]> {
    const live = calls.map((call) => this.#createCall(call, context.tools));
    const results = live.map((call) => this.#result(call, context.signal));
    const abort = () => {
      for (const call of live) call.abort('cancelled');
    };
    if (context.signal.aborted) abort();
    else context.signal.addEventListener('abort', abort, { once: true });
    try {
      if (refusal !== undefined) {
        for (const call of live) call.settle(failure('invalid_input', refusal, { where: call.toolName }));
      }
      await this.#admitAndRun(live, context);
    } catch (error) {
      // A fault of our own: it must not cost the conversation its results.
      for (const call of live) call.settle(failure('failed', errorMessage(error), { where: call.toolName }));
    } finally {
      context.signal.removeEventListener('abort', abort);
    }
    return Promise.all(results);
  }

  pauseDeadline(callId: string): () => void {
    return this.#live.get(callId)?.pauseDeadline() ?? (() => {});
  }

  async dispose(): Promise<void> {
    await this.#pool?.dispose();
  }

  #createCall(request: RequestedCall, tools: ToolSet): LiveCall {
    const { emit, defaultTimeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const { id, name, input, parsed } = request;
    const entry = tools.lookup(name);
    emit({ type: 'tool_call', id, name, input: parsed.ok ? parsed.value : input, at: now() });
    const call = new LiveCall({
      request,
      owner: entry?.owner ?? '',
      timeoutMs: entry?.decl.timeoutMs ?? defaultTimeoutMs,
      onUpdate: (partial) => emit({ type: 'tool_update', id, partial, at: now() }),
    });
    this.#live.set(id, call);
    return call;
  }

  async #admitAndRun(live: readonly LiveCall[], { tools, turn, signal }: TurnContext): Promise<void> {
    const { session, cwd, serial, gates, locks } = this.#options;
    const open = live.filter((call) => !call.isSettled);
    const admitted = await admitCalls(open, { gates, tools, cwd, signal });
    await runCalls(admitted, { session, turn, cwd, serial, locks, workers: () => this.#workers() });
  }

  /** The call's result as the conversation gets it, told as soon as it is there. */
  async #result(call: LiveCall, signal: AbortSignal): Promise<CallResult> {
    const settled = await call.settled;
    const result = await this.#askResultGate(call, settled, signal);
    this.#live.delete(call.id);
    const { startedMs, endedMs } = settled;
    this.#options.emit({ type: 'tool_result', id: call.id, name: call.toolName, result, startedMs, endedMs });
    return result;
  }

  /** What a gate could not look at is not shown: it may be there to take secrets out. */
  async #askResultGate(call: LiveCall, { result }: Settled, signal: AbortSignal): Promise<CallResult> {
    const { gates } = this.#options;
    if (!gates.result) return result;
    try {
      const changed = await untilAborted(gates.result(call, result), signal, RESULT_GATE_GRACE_MS);
      if (!isCallResult(changed)) throw new Error('it returned no result');
      return changed;
    } catch (error) {
      return failure('failed', `the call ran, but a gate of its result failed: ${errorMessage(error)}`, {
        where: call.toolName,
      });
    }
  }

  #workers(): WorkerPool {
    const { workers = DEFAULT_WORKERS, emit } = this.#options;
    this.#pool ??= new WorkerPool({
      limit: workers,
      onOutput: (name, text) => emit({ type: 'tool_output', name, text }),
    });
    return this.#pool;
  }
}

/** Calls of a message that was cut short may lack arguments: a `write` without its text would empty the file. */
function whyNotToRun(stop: Stop): string | undefined {
  if (stop === 'length')
    return 'not run: the message was truncated at the token limit; send the call again, in smaller parts';
  if (stop === 'refused') return 'not run: the model broke the message off';
  return undefined;
}
