// The types that cross the borders of lib/core ("libpanto"). It knows no Lua, no command line and no provider.
import type { ToolRegistry } from './registry.js';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface ToolDecl {
  /** ^[A-Za-z0-9_-]{1,64}$ */
  readonly name: string;
  readonly description: string;
  /** JSON Schema, draft 2020-12, of an object. */
  readonly inputSchema: Json;
  /** Milliseconds; the agent's default when absent; 0 = none. */
  readonly timeoutMs?: number;
  /** Text for the system prompt while the tool is active. */
  readonly guidelines?: string;
  /** Changes nothing outside the process; the permission policy may let it through unasked. */
  readonly readOnly?: boolean;
  /** JSON pointers into the input whose values are file paths: core holds the named lock "file:<real path>" while the call runs, granted in call order. */
  readonly locks?: readonly string[];
  /** Who made it, for messages; default: the source's name. */
  readonly origin?: string;
}

/**
 * A native tool: `module` exports `run` (see NativeRun) and is imported on a worker thread. It must be thread-safe: several
 * calls may run at once. Each CALL is a group of its own; workers grow to the configured number, further calls queue.
 */
export interface Tool extends ToolDecl {
  readonly module: URL;
}
export type NativeRun = (
  input: Json,
  call: {
    readonly id: string;
    readonly cwd: string;
    /** Aborted on cancel and deadline; the worker is terminated 500 ms later if run has not returned. */
    readonly signal: AbortSignal;
    update(partial: CallContent): void;
  },
) => Promise<CallContent | { content: CallContent; display?: string; details?: Json; isError?: boolean }>;

/** Owns several tools and receives all calls of one turn that target them as ONE batch. */
export interface ToolSource {
  /** For diagnostics only. */
  readonly name: string;
  /** May change between turns; see SourceRegistration.refresh. */
  readonly tools: readonly ToolDecl[];
  /**
   * Start every call of the batch at once (one after the other if batch.serial). Give each result to batch.settled as soon as
   * it is there; resolve when all have settled. Never reject because of one call: a rejection is a failure of the source and
   * becomes the error of each call that had not settled.
   */
  invokeBatch(calls: readonly ToolCall[], batch: BatchContext): Promise<void>;
  /** Repair arguments before validation: JSON texts in, JSON texts out. Optional; only for tools that ask for it. */
  prepare?(calls: readonly { toolName: string; input: string }[]): Promise<readonly string[]>;
  dispose(): Promise<void>;
}

export interface ToolCall {
  /** Unique in the session; the provider's id where that is unique. */
  readonly id: string;
  readonly toolName: string;
  /** Name of the source, or "native". */
  readonly owner: string;
  /** JSON text, valid against the tool's schema. */
  readonly input: string;
  /**
   * Its reason is a CallAbort: `kind` "cancelled" (name AbortError) or "timeout" (name TimeoutError). An aborted call settles within a
   * second: settle first, reap afterwards.
   */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds (performance.now()). Moves while a dialog waits for the person. */
  readonly deadline: number;
  /** Each update takes the place of the one before; the last is kept where the call fails. */
  update(partial: CallContent): void;
}

export interface BatchContext {
  readonly session: string;
  readonly turn: number;
  readonly cwd: string;
  /** parallel_tools = false: still one batch, run in order. */
  readonly serial: boolean;
  /** The handler of this call begins now. Stamps of all groups use one clock: performance.timeOrigin + performance.now(). */
  started(index: number, at?: number): void;
  settled(index: number, result: CallResult, at?: number): void;
}

export type CallContent =
  | string
  | readonly ({ type: 'text'; text: string } | { type: 'image'; data: string; mime: string })[];

export type CallResult =
  | {
      readonly ok: true;
      readonly content: CallContent;
      /** An observation that something failed. */
      readonly isError?: boolean;
      /** Markdown for the person. */
      readonly display?: string;
      readonly details?: Json;
    }
  | { readonly ok: false; readonly error: CallError; readonly partial?: CallContent };

export interface CallError {
  readonly kind:
    | 'failed'
    | 'invalid_input'
    | 'unknown_tool'
    | 'denied'
    | 'cancelled'
    | 'timeout'
    | 'out_of_memory'
    | 'source_failed';
  /** One line, for the model and the person. */
  readonly message: string;
  /** "extension file:line" or a module name. */
  readonly where?: string;
  readonly traceback?: string;
}

export type Registered =
  | { readonly kind: 'single'; readonly tool: Tool }
  | { readonly kind: 'source'; readonly source: ToolSource };

/** A name is refused one by one, never the whole source: bad or taken, with both owners named. */
export interface Refusal {
  readonly name: string;
  readonly reason: string;
  readonly owner?: string;
}
export interface SourceRegistration {
  readonly refused: readonly Refusal[];
  refresh(): readonly Refusal[];
  dispose(): void;
}

/** Streams one assistant turn; executes nothing. */
export interface Provider {
  readonly id: string;
  stream(request: TurnRequest, signal: AbortSignal): AsyncIterable<TurnEvent>;
}
export interface TurnRequest {
  system: string;
  messages: readonly Message[];
  tools: readonly ToolDecl[];
  options: Json;
}
export type TurnEvent =
  | { type: 'text'; delta: string }
  | { type: 'thinking'; delta: string }
  | { type: 'tool_input'; id: string; name: string; delta: string }
  | { type: 'tool_call'; id: string; name: string; input: string }
  | { type: 'done'; message: AssistantMessage; usage: Usage; stop: 'end' | 'tool_calls' | 'length' | 'refused' };
/**
 * The conversation. All results of one turn stand in ONE tool message, in the order of the calls; every call has exactly one.
 * `opaque` is the provider's own data (signatures, item ids), kept and handed back untouched.
 */
export type Message = UserMessage | AssistantMessage | ToolMessage;
export interface UserMessage {
  readonly role: 'user';
  readonly content: CallContent;
  readonly opaque?: Json;
}
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: readonly AssistantPart[];
  readonly opaque?: Json;
}
export interface ToolMessage {
  readonly role: 'tool';
  readonly content: readonly ToolResultPart[];
  readonly opaque?: Json;
}
export type AssistantPart = TextPart | ThinkingPart | ToolCallPart;
export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly opaque?: Json;
}
export interface ThinkingPart {
  readonly type: 'thinking';
  readonly text: string;
  readonly opaque?: Json;
}
export interface ToolCallPart {
  readonly type: 'tool_call';
  /** In `done` the provider's id; in the conversation one that is unique in the session (the same, where it was). */
  readonly id: string;
  readonly name: string;
  /** In `done` the JSON text as sent; in the conversation the same, or `{}` where it was no JSON object, so that a resend is valid. */
  readonly input: string;
  /** The provider's own id, where the call had to get another. */
  readonly provider_id?: string;
  readonly opaque?: Json;
}
export interface ToolResultPart {
  readonly type: 'tool_result';
  readonly id: string;
  readonly name: string;
  readonly is_error: boolean;
  /** What the model sees, also for a failed call. */
  readonly content: CallContent;
  readonly details?: Json;
}
export interface Usage {
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
  cost?: number;
}

export interface AgentOptions {
  provider: Provider;
  registry?: ToolRegistry;
  gates?: Gates;
  system?: string;
  messages?: readonly Message[];
  session?: string;
  cwd?: string;
  /** false: groups run one after another, in order of each group's first call; a batch is still one batch, run in order. */
  parallelTools?: boolean;
  /** Requests to the model in one run; default 100. */
  maxTurns?: number;
  /** Worker threads for native tools; default 4. */
  workers?: number;
  /** Default for tools that name none; 120 s. */
  toolTimeoutMs?: number;
  /** Handed to the provider with every request (TurnRequest.options). */
  requestOptions?: Json;
}

/** Hooks of the host around a turn; extensions and permissions are users of them. Order: parse, prepare, validate, batch, call, validate again. */
export interface Gates {
  input?(text: CallContent): Promise<{ input?: CallContent } | { refuse: string }>;
  /** `messages` takes the place of the conversation so far. */
  start?(state: {
    prompt: CallContent;
    system: string;
    messages: readonly Message[];
  }): Promise<{ system?: string; messages?: readonly Message[] }>;
  /** What one request sees; the conversation stays as it is. */
  context?(messages: readonly Message[]): Promise<readonly Message[]>;
  /** By id: the reason to refuse. An error refuses all. */
  batch?(calls: readonly ToolCall[]): Promise<ReadonlyMap<string, string>>;
  /** Asked one call after the other. An error refuses the call. */
  call?(call: ToolCall): Promise<{ input?: string } | { refuse: string }>;
  /** After an error the result is not shown. */
  result?(call: ToolCall, result: CallResult): Promise<CallResult>;
}

export type AgentEvent =
  | { type: 'turn_start'; turn: number }
  /** `stop`: why the model stopped; absent where the turn was aborted or failed. */
  | { type: 'turn_end'; turn: number; usage?: Usage; stop?: 'end' | 'tool_calls' | 'length' | 'refused' }
  | { type: 'message'; message: Message }
  | { type: 'delta'; event: TurnEvent }
  /** `input`: the parsed arguments, or their text where they are no JSON. */
  | { type: 'tool_call'; id: string; name: string; input: Json; at: number }
  | { type: 'tool_update'; id: string; partial: CallContent; at: number }
  | { type: 'tool_result'; id: string; name: string; result: CallResult; startedMs: number; endedMs: number }
  /** What a native tool wrote to its standard streams. */
  | { type: 'tool_output'; name: string; text: string }
  /** Tools that were taken out because their schema is bad. */
  | { type: 'tools_refused'; refused: readonly Refusal[] }
  | { type: 'agent_end'; reason: 'done' | 'aborted' | 'failed' | 'max_turns'; error?: CallError };
