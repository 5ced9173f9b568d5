// Whole turns against a test service that speaks both wire formats, with the requests checked as strictly as the real ones do.
import { LLMock } from '@copilotkit/aimock';
import type { Message, Provider, ToolMessage, ToolResultPart } from '../lib/core/types.js';
import type { ProviderSettings, RetryNotice } from '../lib/providers/index.js';
import {
  callsOf,
  checkConversation,
  fastClock,
  guardProcess,
  KEY,
  providerAt,
  type Recorder,
  recordingProxy,
  request,
  runTurn,
  SURFACES,
} from './providers-support.js';

guardProcess();

describe.each(SURFACES)('the %s service', (surface) => {
  let mock: LLMock;
  let wire: Recorder;
  const provider = (settings?: ProviderSettings): Promise<Provider> => providerAt(surface, wire.url, settings);

  beforeEach(async () => {
    mock = new LLMock({ port: 0, chunkSize: 5 });
    await mock.start();
    wire = await recordingProxy(mock.url);
  });
  afterEach(async () => {
    for (const body of wire.bodies) checkConversation(surface, body);
    await wire.close();
    await mock.stop();
  });

  test('streams text in several deltas that make up the message', async () => {
    mock.on({ userMessage: 'hello' }, { content: 'Hello, this is a longer answer.' });
    const turn = await runTurn(await provider(), 'hello');
    expect(turn.error).toBeUndefined();
    expect(turn.events.filter((event) => event.type === 'text').length).toBeGreaterThan(3);
    expect(turn.text).toBe('Hello, this is a longer answer.');
    expect(turn.done?.message.content).toEqual([{ type: 'text', text: turn.text }]);
    expect(turn.done?.stop).toBe('end');
    expect(turn.events.at(-1)).toBe(turn.done);
  });

  test('streams thinking apart from text and sends it back with what the service attached to it', async () => {
    mock.on(
      { userMessage: 'think' },
      { reasoning: 'first this, then that', content: 'Done.', reasoningSignature: 'sig-1' },
    );
    mock.on({ userMessage: 'go on' }, { content: 'Going on.' });
    const service = await provider();
    const first = await runTurn(service, 'think');
    expect(first.thinking).toBe('first this, then that');
    expect(first.text).toBe('Done.');
    expect(first.done?.message.content.map((part) => part.type)).toEqual(['thinking', 'text']);
    const history: Message[] = [
      { role: 'user', content: 'think' },
      first.done!.message,
      { role: 'user', content: 'go on' },
    ];
    const second = await runTurn(service, request(structuredClone(history)));
    expect(second.text).toBe('Going on.');
    const sent = (wire.bodies[1]!.messages as { role: string; content: unknown }[]).find(
      ({ role }) => role === 'assistant',
    );
    if (surface === 'anthropic') {
      expect(sent?.content).toEqual([
        { type: 'thinking', thinking: 'first this, then that', signature: 'sig-1' },
        { type: 'text', text: 'Done.' },
      ]);
    } else {
      expect(sent).toEqual({ role: 'assistant', content: 'Done.', reasoning_content: 'first this, then that' });
    }
  });

  test('two parallel calls are answered in one message and the conversation goes on', async () => {
    mock.on(
      { userMessage: 'count', hasToolResult: false },
      {
        content: 'Counting.',
        toolCalls: [
          { name: 'word_count', arguments: '{"path":"a.txt"}' },
          { name: 'word_count', arguments: '{"path":"b.txt"}' },
        ],
      },
    );
    mock.on({ hasToolResult: true }, { content: 'Seven and nine.' });
    const service = await provider();
    const first = await runTurn(service, 'count');
    expect(first.done?.stop).toBe('tool_calls');
    const calls = callsOf(first.done?.message);
    expect(calls.map(({ name, input }) => [name, JSON.parse(input)])).toEqual([
      ['word_count', { path: 'a.txt' }],
      ['word_count', { path: 'b.txt' }],
    ]);
    expect(first.events.filter((event) => event.type === 'tool_call').map(({ id }) => id)).toEqual(
      calls.map(({ id }) => id),
    );
    const streamed = (id: string) =>
      first.events.flatMap((event) => (event.type === 'tool_input' && event.id === id ? [event.delta] : [])).join('');
    expect(calls.map(({ id }) => streamed(id))).toEqual(calls.map(({ input }) => input));

    const results: ToolMessage = {
      role: 'tool',
      content: calls.map(
        ({ id, name }, index): ToolResultPart => ({
          type: 'tool_result',
          id,
          name,
          is_error: index === 1,
          content: index === 0 ? '7' : 'no such file',
        }),
      ),
    };
    const second = await runTurn(service, request([{ role: 'user', content: 'count' }, first.done!.message, results]));
    expect(second.text).toBe('Seven and nine.');
    const sent = wire.bodies[1]!.messages as Record<string, unknown>[];
    if (surface === 'anthropic') {
      expect(sent).toHaveLength(3);
      expect(sent[2]).toEqual({
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: calls[0]?.id, content: '7' },
          {
            type: 'tool_result',
            tool_use_id: calls[1]?.id,
            content: 'no such file',
            is_error: true,
            cache_control: { type: 'ephemeral' },
          },
        ],
      });
    } else {
      expect(sent.slice(3)).toEqual([
        { role: 'tool', tool_call_id: calls[0]?.id, content: '7' },
        { role: 'tool', tool_call_id: calls[1]?.id, content: 'no such file' },
      ]);
    }
  });

  test('an aborted turn ends at once, and the conversation goes on with what was shown', async () => {
    mock.on({ userMessage: 'slow' }, { content: 'word '.repeat(40) }, { latency: 20 });
    mock.on({ userMessage: 'continue' }, { content: 'Continuing.' });
    const service = await provider();
    const abort = new AbortController();
    let after = 0;
    const first = await runTurn(service, request([{ role: 'user', content: 'slow' }]), abort.signal, () => {
      if (abort.signal.aborted) after++;
      if (!abort.signal.aborted) setTimeout(() => abort.abort(new Error('the person pressed Ctrl-C')), 60);
    });
    expect(first.error?.message).toBe('the person pressed Ctrl-C');
    expect(after).toBe(0);
    expect(first.done).toBeUndefined();
    expect(first.text.length).toBeGreaterThan(0);
    expect(first.text.length).toBeLessThan(200);
    const second = await runTurn(
      service,
      request([
        { role: 'user', content: 'slow' },
        { role: 'assistant', content: [{ type: 'text', text: first.text }] },
        { role: 'user', content: 'continue' },
      ]),
    );
    expect(second.text).toBe('Continuing.');
  });

  test('a turn aborted before its first word leaves a valid conversation too', async () => {
    mock.on({ userMessage: 'continue' }, { content: 'Continuing.' });
    const turn = await runTurn(
      await provider(),
      request([
        { role: 'user', content: 'slow' },
        { role: 'assistant', content: [] },
        { role: 'user', content: 'continue' },
      ]),
    );
    expect(turn.text).toBe('Continuing.');
  });

  test('a signal that is already aborted asks nobody', async () => {
    const turn = await runTurn(await provider(), request([]), AbortSignal.abort(new Error('too late')));
    expect(turn.error?.message).toBe('too late');
    expect(wire.bodies).toHaveLength(0);
  });

  test('a refused key is one line that names the variable, without a second try', async () => {
    mock.on(
      { userMessage: 'hello' },
      { error: { message: `invalid key ${KEY}`, type: 'authentication_error' }, status: 401 },
    );
    const turn = await runTurn(await provider(), 'hello');
    const variable = surface === 'anthropic' ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY';
    expect(turn.error?.message).toBe(
      `${surface}: HTTP 401 (authentication_error): invalid key ***; check the key in ${variable}`,
    );
    expect(turn.error?.name).toBe('ProviderError');
    expect(wire.bodies).toHaveLength(1);
  });

  test('an overloaded service is asked again and the answer shown once', async () => {
    mock.on({ userMessage: 'hello' }, { content: 'Here I am.' });
    mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' });
    const clock = fastClock();
    const notices: RetryNotice[] = [];
    const turn = await runTurn(await provider({ clock, onRetry: (notice) => notices.push(notice) }), 'hello');
    expect(turn.text).toBe('Here I am.');
    expect(wire.bodies).toHaveLength(2);
    expect(clock.sleeps).toEqual([500]);
    expect(notices.map(({ tries, delayMs, error }) => [tries, delayMs, error.status])).toEqual([[1, 500, 529]]);
  });

  test('a service that stays overloaded is given up with one line', async () => {
    mock.on({ userMessage: 'hello' }, { error: { message: 'Overloaded', type: 'overloaded_error' }, status: 529 });
    const clock = fastClock();
    const retry = { retries: 3, baseMs: 1000, maxDelayMs: 3000, totalMs: 60_000 };
    const turn = await runTurn(await provider({ clock, retry }), 'hello');
    expect(turn.error?.message).toBe(
      `${surface}: HTTP 529 (overloaded_error): Overloaded; gave up after 4 tries in 3 s`,
    );
    expect(clock.sleeps).toEqual([500, 1000, 1500]);
    expect(wire.bodies).toHaveLength(4);
  });

  test('Retry-After of a rate limit is waited for', async () => {
    mock.on(
      { userMessage: 'hello', sequenceIndex: 0 },
      { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 7 },
    );
    mock.on({ userMessage: 'hello', sequenceIndex: 1 }, { content: 'Now.' });
    const clock = fastClock();
    const turn = await runTurn(await provider({ clock }), 'hello');
    expect(turn.text).toBe('Now.');
    expect(clock.sleeps).toEqual([7000]);
  });

  test('an abort ends the wait for the next try', async () => {
    mock.on(
      { userMessage: 'hello' },
      { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 60 },
    );
    const abort = new AbortController();
    const service = await providerAt(surface, wire.url, {
      clock: (await import('../lib/providers/retry.js')).systemClock,
      onRetry: () => setTimeout(() => abort.abort(new Error('stop')), 10),
    });
    const turn = await runTurn(service, request([{ role: 'user', content: 'hello' }]), abort.signal);
    expect(turn.error?.message).toBe('stop');
    expect(wire.bodies).toHaveLength(1);
  });

  test('a connection cut in the middle is an error and what was shown stays', async () => {
    mock.on(
      { userMessage: 'hello' },
      { content: 'This answer will never be complete.' },
      { truncateAfterChunks: 6, latency: 20 },
    );
    const turn = await runTurn(await provider(), 'hello');
    expect(turn.error?.message).toMatch(/^(anthropic|openai): the connection .*lost/);
    expect(turn.done).toBeUndefined();
    expect(turn.text.length).toBeGreaterThan(0);
    expect('This answer will never be complete.'.startsWith(turn.text)).toBe(true);
    expect(wire.bodies).toHaveLength(1);
  });
});

describe('the checkers of these tests refuse what the services refuse', () => {
  const use = (id: string) => ({ type: 'tool_use', id, name: 't', input: {} });
  const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' });
  const user = (...content: object[]) => ({ role: 'user', content });
  const assistant = (...content: object[]) => ({ role: 'assistant', content });
  const text = { type: 'text', text: 'hi' };
  const bad: [string, object[]][] = [
    ['a call without a result', [user(text), assistant(use('a')), user(text)]],
    ['a call with two results', [user(text), assistant(use('a')), user(result('a'), result('a'))]],
    ['results in two messages', [user(text), assistant(use('a'), use('b')), user(result('a')), user(result('b'))]],
    ['a result behind a text', [user(text), assistant(use('a')), user(text, result('a'))]],
    ['an orphan', [user(text), assistant(text), user(result('a'))]],
    ['an empty text', [user(text), assistant({ type: 'text', text: '' }), user(text)]],
    ['two users in a row', [user(text), user(text)]],
    ['an open end', [user(text), assistant(text)]],
  ];
  test.each(bad)('%s (anthropic)', (_, messages) => {
    expect(() => checkConversation('anthropic', { max_tokens: 1, messages })).toThrow();
  });

  const call = (id: string, input = '{}') => ({ id, type: 'function', function: { name: 't', arguments: input } });
  const calls = (...tool_calls: object[]) => ({ role: 'assistant', content: null, tool_calls });
  const tool = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: 'ok' });
  const ask = { role: 'user', content: 'hi' };
  const badChats: [string, object[]][] = [
    ['a call without a result', [ask, calls(call('a'), call('b')), tool('a'), ask]],
    ['a call with two results', [ask, calls(call('a')), tool('a'), tool('a')]],
    ['an orphan', [ask, tool('a')]],
    ['broken arguments', [ask, calls(call('a', '{"a":')), tool('a')]],
    ['two users in a row', [ask, ask]],
  ];
  test.each(badChats)('%s (openai)', (_, messages) => {
    expect(() => checkConversation('openai', { messages })).toThrow();
  });
});
