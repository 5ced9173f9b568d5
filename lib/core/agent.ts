// The agent: a conversation, its tools, and the loop request → calls → results → next request.
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { CallAbort, untilAborted } from './abort.js';
import { CallIds } from './call-ids.js';
import { pairResults } from './history.js';
import { requestCall } from './live-call.js';
import { Locks } from './locks.js';
import { ToolRegistry, type ToolSet } from './registry.js';
import { toCallError } from './results.js';
import { streamTurn } from './stream-turn.js';
import { ToolCalls } from './tool-calls.js';
import type {
  AgentEvent,
  AgentOptions,
  CallContent,
  CallError,
  CallResult,
  Gates,
  Json,
  Message,
  Provider,
  Refusal,
  SourceRegistration,
  Tool,
  ToolSource,
} from './types.js';

const DEFAULT_MAX_TURNS = 100;

type AgentEnd = Omit<Extract<AgentEvent, { type: 'agent_end' }>, 'type'>;

export class Agent {
  /** May be replaced between runs, and during one: the next request goes to the new one. */
  provider: Provider;

  readonly #registry: ToolRegistry;
  readonly #gates: Gates;
  readonly #system: string;
  readonly #maxTurns: number;
  readonly #requestOptions: Json;
  readonly #locks = new Locks();
  readonly #ids = new CallIds();
  readonly #toolCalls: ToolCalls;
  readonly #listeners = new Set<(event: AgentEvent) => void>();
  readonly #ownSources = new Set<ToolSource>();
  readonly #queued: CallContent[] = [];
  readonly #closing = new AbortController();
  #messages: Message[];
  #running = false;
  #turn = 0;
  /** The tools of the turn that runs. */
  #tools: ToolSet | undefined;

  constructor(options: AgentOptions) {
    this.provider = options.provider;
    this.#registry = options.registry ?? new ToolRegistry();
    this.#gates = options.gates ?? {};
    this.#system = options.system ?? '';
    this.#maxTurns = options.maxTurns ?? DEFAULT_MAX_TURNS;
    this.#requestOptions = options.requestOptions ?? {};
    this.#messages = pairResults(options.messages ?? []);
    this.#ids.note(this.#messages);
    this.#toolCalls = new ToolCalls({
      session: options.session ?? randomUUID(),
      cwd: options.cwd ?? process.cwd(),
      serial: options.parallelTools === false,
      workers: options.workers,
      defaultTimeoutMs: options.toolTimeoutMs,
      gates: this.#gates,
      locks: this.#locks,
      emit: (event) => this.#emit(event),
    });
  }

  /** The conversation: paired, so that it can be sent to any provider. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  registerTool(tool: Tool): { refused?: Refusal; dispose(): void } {
    return this.#registry.registerTool(tool);
  }

  /** Adds a source that the agent disposes when it is disposed itself. */
  registerToolSource(source: ToolSource): SourceRegistration {
    this.#ownSources.add(source);
    return this.#registry.registerToolSource(source);
  }

  /** Calls `listener` with every event, until the returned function is called. */
  on(listener: (event: AgentEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Said to the model before its next request: in the run that goes on, or at the begin of the next. */
  enqueue(text: CallContent): void {
    this.#queued.push(text);
  }

  /**
   * One prompt to its end. Resolves with the messages that were added; how it ended (also in failure) is in the event `agent_end`.
   * Rejects only where the agent already runs.
   */
  async run(prompt: CallContent, options: { signal?: AbortSignal } = {}): Promise<readonly Message[]> {
    if (this.#running) throw new Error('the agent already runs; use enqueue() to say something to it');
    this.#running = true;
    const signal = this.#signal(options.signal);
    const added: Message[] = [];
    let end: AgentEnd;
    try {
      end = await this.#converse(prompt, signal, (message) => {
        added.push(message);
        this.#messages.push(message);
        this.#emit({ type: 'message', message });
      });
    } catch (error) {
      end = signal.aborted ? { reason: 'aborted' } : { reason: 'failed', error: toCallError(error, 'agent') };
    } finally {
      this.#running = false;
      this.#tools = undefined;
    }
    this.#emit({ type: 'agent_end', ...end });
    return added;
  }

  /** One call outside a model's turn, through the same gates. It is not part of the conversation. */
  async call(toolName: string, input: Json, options: { signal?: AbortSignal } = {}): Promise<CallResult> {
    const tools = this.#tools ?? (await this.#takeTools());
    const request = requestCall(this.#ids.claim(), toolName, JSON.stringify(input));
    const [result] = await this.#toolCalls.run([request], {
      tools,
      turn: this.#turn,
      signal: this.#signal(options.signal),
    });
    return result!;
  }

  /** Runs alone among all that use the same name: native tools, sources, other callers. */
  lock<T>(name: string, run: () => Promise<T>, options: { signal?: AbortSignal } = {}): Promise<T> {
    return this.#locks.hold(name, run, options.signal);
  }

  /** Stops the deadline's clock of a running call (a dialog waits for the person) until the returned function is called. */
  pauseDeadline(callId: string): () => void {
    return this.#toolCalls.pauseDeadline(callId);
  }

  /** Cancels what runs, ends the worker threads and disposes the sources that were registered with the agent. */
  async dispose(): Promise<void> {
    this.#closing.abort(new CallAbort('cancelled', 'the agent has been closed'));
    await this.#toolCalls.dispose();
    await Promise.allSettled([...this.#ownSources].map((source) => source.dispose()));
  }

  async #converse(prompt: CallContent, signal: AbortSignal, append: (message: Message) => void): Promise<AgentEnd> {
    const begun = await this.#begin(prompt, signal);
    if ('refused' in begun) return { reason: 'failed', error: begun.refused };
    this.#flushQueue(append);
    append({ role: 'user', content: begun.prompt });

    for (let count = 0; count < this.#maxTurns; count++) {
      this.#flushQueue(append);
      const end = await this.#runTurn(begun.system, signal, append);
      if (end === 'go on' || (end.reason === 'done' && this.#queued.length > 0)) continue;
      return end;
    }
    return { reason: 'max_turns' };
  }

  /** The gates `input` and `start`; either may change what is said, the first may refuse it. */
  async #begin(
    prompt: CallContent,
    signal: AbortSignal,
  ): Promise<{ prompt: CallContent; system: string } | { refused: CallError }> {
    signal.throwIfAborted();
    const gates = this.#gates;
    const answer = gates.input ? await untilAborted(gates.input(prompt), signal) : { input: prompt };
    if ('refuse' in answer) return { refused: { kind: 'denied', message: answer.refuse } };
    const said = answer.input ?? prompt;
    const state = { prompt: said, system: this.#system, messages: this.#messages };
    const start = gates.start ? await untilAborted(gates.start(state), signal) : {};
    if (start.messages) {
      this.#messages = pairResults(start.messages);
      this.#ids.note(this.#messages);
    }
    return { prompt: said, system: start.system ?? this.#system };
  }

  async #runTurn(system: string, signal: AbortSignal, append: (message: Message) => void): Promise<AgentEnd | 'go on'> {
    signal.throwIfAborted();
    const tools = await this.#takeTools();
    this.#tools = tools;
    const { context } = this.#gates;
    const request = {
      system: withGuidelines(system, tools),
      messages: context ? pairResults(await untilAborted(context(this.#messages), signal)) : [...this.#messages],
      tools: tools.declarations,
      options: this.#requestOptions,
    };
    // From here on nothing throws: every turn that starts also ends.
    const turn = ++this.#turn;
    this.#emit({ type: 'turn_start', turn });
    const streamed = await streamTurn(this.provider, request, this.#ids, signal, (event) =>
      this.#emit({ type: 'delta', event }),
    );
    if (streamed.kind !== 'message') {
      if (streamed.partial) append(streamed.partial);
      this.#emit({ type: 'turn_end', turn });
      return streamed.kind === 'aborted' ? { reason: 'aborted' } : { reason: 'failed', error: streamed.error };
    }

    const { message, calls, usage, stop } = streamed;
    if (message.content.length > 0) append(message);
    if (calls.length > 0) {
      append(await this.#toolCalls.answer(calls, stop, { tools, turn, signal }));
    }
    this.#emit({ type: 'turn_end', turn, usage, stop });
    if (signal.aborted) return { reason: 'aborted' };
    if (stop === 'refused') {
      return {
        reason: 'failed',
        error: { kind: 'failed', message: 'the model refused to answer', where: this.provider.id },
      };
    }
    return calls.length > 0 ? 'go on' : { reason: 'done' };
  }

  async #takeTools(): Promise<ToolSet> {
    const refused = await this.#registry.check();
    if (refused.length > 0) this.#emit({ type: 'tools_refused', refused });
    return this.#registry.snapshot();
  }

  #flushQueue(append: (message: Message) => void): void {
    for (const content of this.#queued.splice(0)) append({ role: 'user', content });
  }

  #signal(signal: AbortSignal | undefined): AbortSignal {
    const either = AbortSignal.any(signal ? [signal, this.#closing.signal] : [this.#closing.signal]);
    // Each call of a turn may listen; Node warns of a leak from the eleventh on.
    setMaxListeners(0, either);
    return either;
  }

  /** A listener that throws is reported and stops nothing. */
  #emit(event: AgentEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        const { message, traceback = '' } = toCallError(error, '');
        process.emitWarning(`a listener of agent events failed: ${message}`, { detail: traceback });
      }
    }
  }
}

/** The system prompt with what the tools of the turn have to say. */
function withGuidelines(system: string, tools: ToolSet): string {
  const guidelines = tools.declarations.flatMap((tool) => tool.guidelines ?? []);
  return [system, ...guidelines].filter((text) => text !== '').join('\n\n');
}
