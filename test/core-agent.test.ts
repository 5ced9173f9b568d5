// The agent across turns: history, tools that change, things said in between, and how a run ends.
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '../lib/core/agent.js';
import type { AgentEvent, Message, Provider, TurnRequest } from '../lib/core/types.js';
import { playScript, type ScriptedTurn } from '../lib/providers/scripted.js';
import { declare, expectPaired, plainSource, play, turnOf } from './core-support.js';

/** Plays a script and keeps every request. */
function spy(turns: readonly ScriptedTurn[]): { provider: Provider; requests: TurnRequest[] } {
  const script = playScript({ turns });
  const requests: TurnRequest[] = [];
  return {
    requests,
    provider: {
      id: 'spy',
      stream(request, signal) {
        requests.push(request);
        return script.stream(request, signal);
      },
    },
  };
}

test('a prompt runs to its end, with every step told and the new messages returned', async () => {
  const usage = { input: 10, output: 2 };
  const source = plainSource('s', { x: () => 'ran' });
  const { agent, events, run } = play(
    [{ text: 'Look.', tool_calls: [{ name: 'x' }], usage }, { text: 'Done.' }],
    [source],
  );
  const first = await run();
  expect(events.map((event) => event.type).filter((type) => type !== 'delta')).toEqual([
    'message',
    'turn_start',
    'message',
    'tool_call',
    'tool_result',
    'message',
    'turn_end',
    'turn_start',
    'message',
    'turn_end',
    'agent_end',
  ]);
  expect(events.find((event) => event.type === 'turn_end')).toEqual({
    type: 'turn_end',
    turn: 1,
    usage,
    stop: 'tool_calls',
  });
  expect(first).toEqual(agent.messages);
  expect(first.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('tools may come and go between turns; a turn keeps the set it began with', async () => {
  const { provider, requests } = spy([
    { tool_calls: [{ name: 'swap' }, { name: 'old' }] },
    { tool_calls: [{ name: 'fresh' }, { name: 'old' }] },
    { text: 'Done.' },
  ]);
  const source = plainSource('s', {
    swap: async () => {
      source.tools = [declare('swap'), declare('fresh')];
      registration.refresh();
      return sleep(20, 'swapped');
    },
    old: () => 'old',
    fresh: () => 'fresh',
  });
  source.tools = [declare('swap'), declare('old')];
  const { agent, run, results } = play([], [], { provider });
  const registration = agent.registerToolSource(source);
  await run();
  expect(requests.map((request) => request.tools.map((tool) => tool.name))).toEqual([
    ['swap', 'old'],
    ['swap', 'fresh'],
    ['swap', 'fresh'],
  ]);
  expect(results(0).map((part) => part.content)).toEqual(['swapped', 'old']);
  expect(results(1).map((part) => part.content)).toEqual([
    'fresh',
    'old: there is no tool of this name; the tools are: swap, fresh',
  ]);
});

test('the guidelines of the tools of a turn are part of its system prompt', async () => {
  const { provider, requests } = spy([{ tool_calls: [{ name: 'x' }] }, {}]);
  const source = plainSource('s', { x: () => 'ran' });
  source.tools = [declare('x', { guidelines: 'Use x with care.' }), declare('y')];
  const { agent, run } = play([], [], { provider, system: 'Be kind.' });
  const registration = agent.registerToolSource(source);
  agent.on((event) => {
    if (event.type !== 'tool_result') return;
    source.tools = [declare('y')];
    registration.refresh();
  });
  await run();
  expect(requests.map((request) => request.system)).toEqual(['Be kind.\n\nUse x with care.', 'Be kind.']);
});

test('a tool whose schema is bad is left out of requests and reported; the others stay', async () => {
  const { provider, requests } = spy([{ text: 'Hm.' }]);
  const source = plainSource('s', { good: () => '', bad: () => '', ref: () => '' });
  source.tools = [
    declare('good'),
    declare('bad', { inputSchema: { type: 'object', properties: { n: { type: 'integr' } } } }),
    declare('ref', { inputSchema: { type: 'object', properties: { n: { $ref: '#/nowhere' } } } }),
  ];
  const { events, run } = play([], [source], { provider });
  await run();
  expect(requests[0]?.tools.map((tool) => tool.name)).toEqual(['good']);
  const refused = events.flatMap((event) => (event.type === 'tools_refused' ? event.refused : []));
  expect(refused.map((refusal) => [refusal.name, refusal.owner])).toEqual([
    ['bad', 's'],
    ['ref', 's'],
  ]);
  expect(refused[0]?.reason).toContain('tool "bad" of s: the schema is invalid: /properties/n/type');
  expect(refused[1]?.reason).toContain('the schema does not compile');
});

test('a resumed conversation with unanswered calls gets results that say interrupted, before the next request', async () => {
  const call = (id: string, input = '{}') => ({ type: 'tool_call' as const, id, name: 'x', input });
  const result = (id: string) => ({
    type: 'tool_result' as const,
    id,
    name: 'x',
    is_error: false,
    content: 'there',
  });
  const messages: Message[] = [
    { role: 'tool', content: [result('orphan')] },
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [call('a'), call('b', '{"cut'), call('c')] },
    { role: 'tool', content: [result('c'), result('a'), result('a'), result('unasked')] },
    { role: 'assistant', content: [{ type: 'text', text: 'And now' }, call('d')] },
  ];
  const { provider, requests } = spy([{ tool_calls: [{ name: 'x', id: 'd' }] }, { text: 'Done.' }]);
  const agent = new Agent({ provider, messages });
  await agent.run('continue');
  for (const request of requests) expectPaired(request.messages);
  const sent = requests[0]!.messages;
  expect(sent.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'user']);
  const interrupted = {
    is_error: true,
    content: 'x: interrupted before it gave a result; it may have had effects',
  };
  expect(sent[2]?.content).toMatchObject([{ id: 'a', is_error: false }, { id: 'b', ...interrupted }, { id: 'c' }]);
  expect(sent[4]?.content).toMatchObject([{ id: 'd', ...interrupted }]);
  expect(sent[1]?.content).toMatchObject([{ input: '{}' }, { input: '{}' }, { input: '{}' }]);
  const later = requests[1]!.messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  const ids = later.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []));
  expect(new Set(ids).size).toBe(ids.length);
});

test('what is said while it works reaches the model with its next request, also after its last word', async () => {
  const { provider, requests } = spy([{ tool_calls: [{ name: 'x' }] }, { text: 'Done.' }, { text: 'That too.' }]);
  const source = plainSource('s', {
    x: () => {
      agent.enqueue('and be quick');
      return 'ran';
    },
  });
  const { agent, run, events } = play([], [source], { provider });
  agent.on((event) => {
    if (event.type === 'turn_end' && event.turn === 2) agent.enqueue('one more thing');
  });
  agent.enqueue('said before');
  await run();
  expect(requests.map((request) => request.messages.at(-1))).toEqual([
    { role: 'user', content: 'go' },
    { role: 'user', content: 'and be quick' },
    { role: 'user', content: 'one more thing' },
  ]);
  expect(requests[0]?.messages[0]).toEqual({ role: 'user', content: 'said before' });
  expect(events.at(-1)).toEqual({ type: 'agent_end', reason: 'done' });
});

test('a run ends at its limit of turns, with every call answered', async () => {
  const turn = { tool_calls: [{ name: 'x' }] };
  const { run, agent, end } = play([turn, turn, turn], [plainSource('s', { x: () => 'ran' })], { maxTurns: 2 });
  await run();
  expect(end()).toEqual({ type: 'agent_end', reason: 'max_turns' });
  expect(agent.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
  expectPaired(agent.messages);
});

test('an error of the provider ends the run as failed, keeps the text, and the next run goes on', async () => {
  let attempt = 0;
  const provider: Provider = {
    id: 'flaky',
    async *stream() {
      if (attempt++ > 0) {
        yield* playScript({ turns: [{ text: 'Better.' }] }).stream({} as TurnRequest, new AbortController().signal);
        return;
      }
      yield { type: 'text', delta: 'I beg' };
      throw new Error('529 overloaded');
    },
  };
  const { run, agent, end } = play([], [], { provider });
  await run();
  expect(end()).toMatchObject({
    reason: 'failed',
    error: { kind: 'failed', message: '529 overloaded', where: 'flaky' },
  });
  expect(agent.messages.at(-1)?.content).toEqual([{ type: 'text', text: 'I beg' }]);
  await run();
  expect(agent.messages.at(-1)?.content).toEqual([{ type: 'text', text: 'Better.' }]);
});

test.each<[string, ScriptedTurn[] | Provider, string]>([
  ['no more turns in its script', [], 'the script has no answer to request 1: it has only 0 turns'],
  ['a stream that breaks off', { id: 'short', async *stream() {} }, 'the stream ended before the message was complete'],
  ['a refusal', [{ text: 'I', stop: 'refused' }], 'the model refused to answer'],
])('%s is a failed run with its cause', async (_name, model, message) => {
  const options = Array.isArray(model) ? {} : { provider: model };
  const { run, end } = play(Array.isArray(model) ? model : [], [], options);
  await run();
  expect(end()).toMatchObject({ reason: 'failed', error: { message } });
});

test('an answer without content leaves no empty message behind', async () => {
  const { run, agent, end } = play([{ text: '' }], []);
  await run();
  expect(agent.messages).toEqual([{ role: 'user', content: 'go' }]);
  expect(end().reason).toBe('done');
});

test('two runs at once are refused, and a listener that throws stops nothing', async () => {
  const warnings: string[] = [];
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error) => void warnings.push(String(warning));
  const { run, agent, end } = play(turnOf({ name: 'x' }), [plainSource('s', { x: () => 'ran' })]);
  const off = agent.on((event: AgentEvent) => {
    if (event.type === 'tool_result') throw new Error('listener');
  });
  const first = run();
  await expect(run()).rejects.toThrow('already runs');
  await first;
  off();
  process.emitWarning = emitWarning;
  expect(end().reason).toBe('done');
  expect(warnings).toEqual(['a listener of agent events failed: listener']);
});
