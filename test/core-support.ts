// What the tests of lib/core share: a source in plain TypeScript, and an agent whose model plays a script.
import { Agent } from '../lib/core/agent.js';
import type {
  AgentEvent,
  AgentOptions,
  BatchContext,
  CallContent,
  CallResult,
  Json,
  Message,
  ToolCall,
  ToolDecl,
  ToolMessage,
  ToolResultPart,
  ToolSource,
} from '../lib/core/types.js';
import { playScript, type ScriptedTurn } from '../lib/providers/scripted.js';

export type Handler = (input: { [key: string]: Json }, call: ToolCall) => Promise<CallContent> | CallContent;

export interface PlainSource extends ToolSource {
  readonly batches: { readonly ids: readonly string[]; readonly serial: boolean }[];
  tools: ToolDecl[];
}

export function declare(name: string, more: Partial<ToolDecl> = {}): ToolDecl {
  return { name, description: `The tool ${name}`, inputSchema: { type: 'object' }, ...more };
}

/** A well-behaved source: starts all calls at once, settles each as soon as it is there. */
export function plainSource(
  name: string,
  handlers: Record<string, Handler>,
  more: Record<string, Partial<ToolDecl>> = {},
): PlainSource {
  const batches: PlainSource['batches'] = [];
  return {
    name,
    batches,
    tools: Object.keys(handlers).map((tool) => declare(tool, more[tool])),
    async invokeBatch(calls, batch) {
      batches.push({ ids: calls.map((call) => call.id), serial: batch.serial });
      const runOne = async (call: ToolCall, index: number) => {
        batch.started(index);
        batch.settled(index, await runHandler(handlers[call.toolName]!, call));
      };
      if (batch.serial) for (const [index, call] of calls.entries()) await runOne(call, index);
      else await Promise.all(calls.map(runOne));
    },
    async dispose() {},
  };
}

async function runHandler(handler: Handler, call: ToolCall): Promise<CallResult> {
  try {
    return { ok: true, content: await handler(JSON.parse(call.input), call) };
  } catch (error) {
    return { ok: false, error: { kind: 'failed', message: (error as Error).message, where: call.toolName } };
  }
}

/** A source with an invokeBatch of the test's own. */
export function rawSource(
  name: string,
  tools: readonly ToolDecl[],
  invokeBatch: (calls: readonly ToolCall[], batch: BatchContext) => Promise<void>,
): ToolSource {
  return { name, tools, invokeBatch, async dispose() {} };
}

export type ToolResultEvent = Extract<AgentEvent, { type: 'tool_result' }>;

export interface Play {
  readonly agent: Agent;
  readonly events: AgentEvent[];
  run(signal?: AbortSignal): Promise<readonly Message[]>;
  /** Results of the n-th tool message, in order. */
  results(n?: number): readonly ToolResultPart[];
  /** Events of results, in the order of settling. */
  settled(): readonly ToolResultEvent[];
  end(): Extract<AgentEvent, { type: 'agent_end' }>;
}

/** An agent whose model plays `turns`. */
export function play(
  turns: readonly ScriptedTurn[],
  sources: readonly ToolSource[],
  options: Partial<AgentOptions> = {},
): Play {
  const agent = new Agent({ provider: playScript({ turns }), ...options });
  const events: AgentEvent[] = [];
  agent.on((event) => events.push(event));
  for (const source of sources) agent.registerToolSource(source);
  return {
    agent,
    events,
    run: (signal) => agent.run('go', signal ? { signal } : {}),
    results: (n = 0) =>
      agent.messages.filter((message): message is ToolMessage => message.role === 'tool')[n]?.content ?? [],
    settled: () => events.filter((event): event is ToolResultEvent => event.type === 'tool_result'),
    end: () => events.find((event) => event.type === 'agent_end')!,
  };
}

/** One turn with these calls, then a last one. */
export function turnOf(...calls: NonNullable<ScriptedTurn['tool_calls']>[number][]): ScriptedTurn[] {
  return [{ tool_calls: calls }, { text: 'Done.' }];
}

/** Every call id in the conversation has exactly one result, right after its message and in order. */
export function expectPaired(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue;
    const ids = message.content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []));
    if (ids.length === 0) continue;
    const next = messages[index + 1];
    expect(next?.role === 'tool' ? next.content.map((part) => part.id) : undefined).toEqual(ids);
  }
}

/** Everything overlapped: all had started before the first ended. */
export function expectOverlap(results: readonly ToolResultEvent[]): void {
  const lastStart = Math.max(...results.map((result) => result.startedMs));
  const firstEnd = Math.min(...results.map((result) => result.endedMs));
  expect(lastStart).toBeLessThan(firstEnd);
}
