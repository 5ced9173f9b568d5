// What the wire formats say and want to hear, with a hand-written server on loopback.
import { createProvider } from '../lib/providers/index.js';
import { chunk, event, recorded, toolCall, whole } from './providers-recordings.js';
import {
  answer,
  callsOf,
  checkConversation,
  fastClock,
  guardProcess,
  providerAt,
  request,
  runTurn,
  SURFACES,
  stream,
  testServers,
} from './providers-support.js';

guardProcess();
const serve = testServers();

describe.each(SURFACES)('an answer of the %s service', (surface) => {
  test('reports what was used, with the cached part apart', async () => {
    const { url } = await serve(stream(whole(surface, 'Hi there, you.')));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    const cacheWrite = surface === 'anthropic' ? { cacheWrite: 40 } : {};
    expect(turn.done?.usage).toEqual({ input: 12, output: 9, cacheRead: 300, ...cacheWrite });
  });

  const inputs = [
    '',
    '""',
    '{"a": ',
    'nul',
    '[1]',
    '{"path": "a", }',
    '{"path": "a", "path": "b"}',
    '{"n": 12345678901234567890}',
  ];
  test.each(inputs)('hands on the arguments %j as the model wrote them, and a resend is valid', async (input) => {
    const { url, bodies } = await serve(stream(toolCall(surface, input)), stream(whole(surface, 'I see, my mistake.')));
    const provider = await providerAt(surface, url);
    const first = await runTurn(provider, 'write');
    // Anthropic streams nothing for a call without arguments.
    const expected = surface === 'anthropic' && input === '' ? '{}' : input;
    const [call] = callsOf(first.done?.message);
    expect(call).toEqual({ id: expect.any(String), name: 'write', input: expected });
    expect(first.events).toContainEqual({ type: 'tool_call', ...call });
    expect(first.done?.stop).toBe('tool_calls');
    const second = await runTurn(
      provider,
      request([
        { role: 'user', content: 'write' },
        first.done!.message,
        {
          role: 'tool',
          content: [{ type: 'tool_result', id: call!.id, name: 'write', is_error: true, content: 'broken arguments' }],
        },
      ]),
    );
    expect(second.text).toBe('I see, my mistake.');
    for (const body of bodies) checkConversation(surface, body);
    if (surface === 'openai' && input.startsWith('{"n"'))
      expect(JSON.stringify(bodies[1])).toContain('12345678901234567890');
  });

  test('a tool without parameters needs no arguments', async () => {
    const { url } = await serve(stream(toolCall(surface, '')));
    const tools = [{ name: 'write', description: 'Writes', inputSchema: { type: 'object' } }];
    const turn = await runTurn(await providerAt(surface, url), request([{ role: 'user', content: 'go' }], { tools }));
    expect(callsOf(turn.done?.message).map(({ input }) => input)).toEqual(['{}']);
  });

  test.each(['{"path": "a.txt", "content": "hal', ''])(
    'a call cut off by the length limit at %j says so',
    async (input) => {
      const { url } = await serve(stream(toolCall(surface, input, 'length')));
      const turn = await runTurn(await providerAt(surface, url), 'write');
      expect(turn.error).toBeUndefined();
      expect(turn.done?.stop).toBe('length');
      expect(callsOf(turn.done?.message).map((call) => call.input)).toEqual([input]);
    },
  );

  test('a refusal is told apart from an end', async () => {
    const refused =
      surface === 'anthropic'
        ? [
            ...recorded.anthropic('I cannot do this.').events,
            event('message_delta', { delta: { stop_reason: 'refusal' }, usage: { output_tokens: 9 } }),
            event('message_stop', {}),
          ]
        : [chunk({ refusal: 'I cannot do this.' }), chunk({}, 'stop'), 'data: [DONE]\n\n'];
    const { url } = await serve(stream(refused.join('')));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.done?.stop).toBe('refused');
    expect(turn.text).toBe('I cannot do this.');
  });
});

describe('only the anthropic service', () => {
  test('marks the system prompt and the last messages for its cache', async () => {
    const { url, bodies } = await serve(stream(whole('anthropic', 'Hi there, you.')));
    const turns = request([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
      { role: 'user', content: 'three' },
      { role: 'assistant', content: [{ type: 'text', text: 'four' }] },
      { role: 'user', content: 'five' },
    ]);
    await runTurn(await providerAt('anthropic', url), turns);
    const mark = { cache_control: { type: 'ephemeral' } };
    expect(bodies[0]?.system).toEqual([{ type: 'text', text: 'You are a test.', ...mark }]);
    expect(
      (bodies[0]!.messages as { content: object[] }[]).map(({ content }) => 'cache_control' in content[0]!),
    ).toEqual([false, false, true, false, true]);
  });

  test('ignores kinds of events that it does not know', async () => {
    const { events, end } = recorded.anthropic('Hi there, you.');
    const { url } = await serve(stream([...events, event('weather', { sunny: true }), ...end].join('')));
    const turn = await runTurn(await providerAt('anthropic', url), 'hello');
    expect(turn.error).toBeUndefined();
    expect(turn.text).toBe('Hi there, you.');
  });

  test('sends the limits of the answer and of thinking', async () => {
    const { url, bodies } = await serve(stream(whole('anthropic', 'Hi there, you.')));
    const provider = await providerAt('anthropic', url);
    const messages = [{ role: 'user' as const, content: 'hello' }];
    await runTurn(provider, request(messages));
    await runTurn(provider, request(messages, { options: { maxOutputTokens: 500, thinkingBudget: 2000 } }));
    expect(bodies[0]).toMatchObject({ max_tokens: 32_000 });
    expect(bodies[0]).not.toHaveProperty('thinking');
    expect(bodies[1]).toMatchObject({ max_tokens: 2500, thinking: { type: 'enabled', budget_tokens: 2000 } });
  });

  test('hidden thinking goes back as it came', async () => {
    const { events, end } = recorded.anthropic('Hi there, you.');
    const hidden = [
      event('content_block_start', { index: 5, content_block: { type: 'redacted_thinking', data: 'sealed' } }),
      event('content_block_stop', { index: 5 }),
    ];
    const { url, bodies } = await serve(stream([...events, ...hidden, ...end].join('')));
    const provider = await providerAt('anthropic', url);
    const first = await runTurn(provider, 'hello');
    await runTurn(
      provider,
      request([{ role: 'user', content: 'hello' }, first.done!.message, { role: 'user', content: 'go on' }]),
    );
    expect(JSON.stringify(bodies[1])).toContain('{"type":"redacted_thinking","data":"sealed"}');
  });
});

describe('only openai-compatible services', () => {
  const local = (url: string, model = 'local/some/model') =>
    createProvider(model, { providers: { local: { base_url: `${url}/v1` } }, env: {} }, { clock: fastClock() });

  test('a server of one’s own needs no key and gets the model name with its slashes', async () => {
    const { url, bodies, headers } = await serve(stream(whole('openai', 'Hi there, you.')));
    const provider = await local(url);
    expect(provider.id).toBe('local/some/model');
    const turn = await runTurn(
      provider,
      request([{ role: 'user', content: 'hello' }], { options: { maxOutputTokens: 7 } }),
    );
    expect(turn.text).toBe('Hi there, you.');
    expect(headers[0]).not.toHaveProperty('authorization');
    expect(bodies[0]).toMatchObject({ model: 'some/model', max_tokens: 7 });
  });

  test('OpenAI gets the limit under its new name, and none unasked', async () => {
    const { url, bodies } = await serve(stream(whole('openai', 'Hi there, you.')));
    const provider = await providerAt('openai', url);
    await runTurn(
      provider,
      request([{ role: 'user', content: 'hello' }], { options: { maxOutputTokens: 7, effort: 'low' } }),
    );
    await runTurn(provider, 'hello');
    expect(bodies[0]).toMatchObject({ max_completion_tokens: 7, reasoning_effort: 'low' });
    expect(bodies[0]).not.toHaveProperty('max_tokens');
    expect(bodies[1]).not.toHaveProperty('max_completion_tokens');
  });

  test('calls must be answered also where the server says "stop"', async () => {
    const text = toolCall('openai', '{"path":"a"}').replace('"finish_reason":"tool_calls"', '"finish_reason":"stop"');
    const { url } = await serve(stream(text));
    const turn = await runTurn(await local(url), 'hello');
    expect(turn.done?.stop).toBe('tool_calls');
  });

  test('a failure that is told as a reason to stop is an error', async () => {
    const text = whole('openai', 'Half of the answer').replace('"finish_reason":"stop"', '"finish_reason":"error"');
    const { url } = await serve(stream(text));
    const turn = await runTurn(await local(url), 'hello');
    expect(turn.error?.message).toBe('local: the service stopped in the middle of the answer');
  });

  test('an exhausted account is not asked again', async () => {
    const body = {
      error: { message: 'You exceeded your quota', type: 'insufficient_quota', code: 'insufficient_quota' },
    };
    const { url, bodies } = await serve(answer(429, JSON.stringify(body)));
    const turn = await runTurn(await local(url), 'hello');
    expect(turn.error?.message).toBe(
      'local: HTTP 429 (insufficient_quota): You exceeded your quota; check the plan of the account',
    );
    expect(bodies).toHaveLength(1);
  });

  test('Gemini’s signature of a call goes back where it wants it', async () => {
    const text = toolCall('openai', '{"path":"a"}').replace(
      '"type":"function"',
      '"type":"function","extra_content":{"google":{"thought_signature":"sig-9"}}',
    );
    const { url, bodies } = await serve(stream(text));
    const provider = await local(url);
    const first = await runTurn(provider, 'hello');
    const [call] = callsOf(first.done?.message);
    await runTurn(
      provider,
      request([
        { role: 'user', content: 'hello' },
        structuredClone(first.done!.message),
        {
          role: 'tool',
          content: [{ type: 'tool_result', id: call!.id, name: 'write', is_error: false, content: 'ok' }],
        },
      ]),
    );
    checkConversation('openai', bodies[1]!);
    expect(JSON.stringify(bodies[1])).toContain('"extra_content":{"google":{"thought_signature":"sig-9"}}');
  });
});
