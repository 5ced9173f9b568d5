// The agent over both services: the calls of a turn run as one batch of a source in plain TypeScript and are answered in one message.
import { LLMock } from '@copilotkit/aimock';
import { Agent } from '../lib/core/agent.js';
import type { AgentEvent, BatchContext, Json, ToolCall, ToolSource } from '../lib/core/types.js';
import {
  answer,
  checkConversation,
  guardProcess,
  providerAt,
  type Recorder,
  recordingProxy,
  SURFACES,
  sseServer,
  wordCount,
} from './providers-support.js';

guardProcess();

class WordCounts implements ToolSource {
  readonly name = 'counting';
  readonly tools = [wordCount];
  readonly batches: string[][] = [];
  /** Resolves when the calls run. */
  readonly started: Promise<void>;
  #start = () => {};

  /** @param answers by path; none: the call runs until it is aborted */
  constructor(readonly answers: Record<string, string>) {
    this.started = new Promise((resolve) => {
      this.#start = resolve;
    });
  }

  async invokeBatch(calls: readonly ToolCall[], batch: BatchContext): Promise<void> {
    this.batches.push(calls.map((call) => call.input));
    // Backwards, so that the order of the results is not the order in which they came.
    await Promise.all(
      [...calls.keys()].reverse().map(async (index) => {
        const call = calls[index]!;
        batch.started(index);
        const { path } = JSON.parse(call.input) as { path: string };
        const content = this.answers[path];
        if (content === undefined) {
          this.#start();
          await new Promise((resolve) => call.signal.addEventListener('abort', resolve, { once: true }));
          batch.settled(index, { ok: false, error: { kind: 'cancelled', message: 'cancelled' } });
        } else {
          batch.settled(index, { ok: true, content });
        }
      }),
    );
  }

  async dispose(): Promise<void> {}
}

describe.each(SURFACES)('the agent with the %s service', (surface) => {
  let mock: LLMock;
  let wire: Recorder;
  let agent: Agent | undefined;

  beforeEach(async () => {
    mock = new LLMock({ port: 0, chunkSize: 5 });
    await mock.start();
    wire = await recordingProxy(mock.url);
    mock.on(
      { userMessage: 'count', hasToolResult: false },
      {
        content: 'Counting.',
        reasoning: 'two files',
        toolCalls: [
          { name: 'word_count', arguments: '{"path":"a.txt"}' },
          { name: 'word_count', arguments: '{"path":"b.txt"}' },
        ],
      },
    );
  });
  afterEach(async () => {
    await agent?.dispose();
    agent = undefined;
    await wire.close();
    await mock.stop();
  });

  async function makeAgent(source: ToolSource): Promise<{ agent: Agent; events: AgentEvent[] }> {
    const made = new Agent({ provider: await providerAt(surface, wire.url), system: 'You count words.' });
    agent = made;
    made.registerToolSource(source);
    const events: AgentEvent[] = [];
    made.on((event) => events.push(event));
    return { agent: made, events };
  }

  test('two parallel calls run as one batch and are answered in one message, in order', async () => {
    mock.on({ hasToolResult: true }, { content: 'Seven and nine.' });
    const source = new WordCounts({ 'a.txt': 'seven', 'b.txt': 'nine' });
    const { agent, events } = await makeAgent(source);
    const added = await agent.run('count');
    expect(added.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(source.batches).toEqual([['{"path":"a.txt"}', '{"path":"b.txt"}']]);
    expect(events.at(-1)).toEqual({ type: 'agent_end', reason: 'done' });
    for (const body of wire.bodies) checkConversation(surface, body);
    expect(resultsOf(wire.bodies[1]!)).toEqual(['seven', 'nine']);
    expect(wire.bodies).toHaveLength(2);
  });

  test('a run that was stopped inside a call can be continued', async () => {
    mock.on({ userMessage: 'continue' }, { content: 'Continuing.' });
    const source = new WordCounts({ 'a.txt': 'seven' });
    const { agent, events } = await makeAgent(source);
    const abort = new AbortController();
    source.started.then(() => abort.abort());
    await agent.run('count', { signal: abort.signal });
    expect(events.at(-1)).toEqual({ type: 'agent_end', reason: 'aborted' });
    await agent.run('continue');
    expect(events.at(-1)).toEqual({ type: 'agent_end', reason: 'done' });
    for (const body of wire.bodies) checkConversation(surface, body);
    expect(resultsOf(wire.bodies.at(-1)!)).toEqual(['seven', expect.stringContaining('cancel')]);
  });

  test('a failed request ends the run with the line of the provider', async () => {
    await wire.close();
    wire = await sseServer(answer(401, '{"error":{"message":"no such key"}}'));
    const { agent, events } = await makeAgent(new WordCounts({}));
    await agent.run('count');
    const variable = surface === 'anthropic' ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY';
    expect(events.at(-1)).toMatchObject({
      type: 'agent_end',
      reason: 'failed',
      error: { message: `${surface}: HTTP 401: no such key; check the key in ${variable}` },
    });
  });
});

/** The texts of all results in a request. */
function resultsOf(body: Record<string, unknown>): Json[] {
  const messages = body.messages as { role: string; content: Json; tool_call_id?: string }[];
  return messages.flatMap((message) => {
    if (message.role === 'tool') return [message.content];
    const blocks = Array.isArray(message.content) ? (message.content as { type: string; content: Json }[]) : [];
    return blocks.flatMap((block) => (block.type === 'tool_result' ? [block.content] : []));
  });
}
