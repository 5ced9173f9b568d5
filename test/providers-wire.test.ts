// What services and the network do to a stream, replayed byte by byte by a hand-written server on loopback.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProvider } from '../lib/providers/index.js';
import {
  answer,
  callsOf,
  checkConversation,
  fastClock,
  guardProcess,
  KEY,
  providerAt,
  type Recorder,
  request,
  runTurn,
  SURFACES,
  type SurfaceName,
  sseServer,
  stream,
} from './providers-support.js';

guardProcess();

const TEXT = 'Grüße aus 東京 🎉, a line\u2028separator and "quotes"';

/** One recorded answer of each service; the last piece is what says that it is complete. */
const recorded: Record<SurfaceName, (text: string) => { events: string[]; end: string[] }> = {
  anthropic: (text) => ({
    events: [
      event('message_start', {
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'test-model',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 12, output_tokens: 1, cache_read_input_tokens: 300, cache_creation_input_tokens: 40 },
        },
      }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event('ping', {}),
      ...halves(text).map((half) =>
        event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: half } }),
      ),
      event('content_block_stop', { index: 0 }),
    ],
    end: [
      event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 9 } }),
      event('message_stop', {}),
    ],
  }),
  openai: (text) => ({
    events: [chunk({ role: 'assistant', content: '' }), ...halves(text).map((half) => chunk({ content: half }))],
    end: [
      chunk({}, 'stop'),
      data({
        id: 'c1',
        choices: [],
        usage: { prompt_tokens: 312, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 300 } },
      }),
      'data: [DONE]\n\n',
    ],
  }),
};

function halves(text: string): string[] {
  const points = [...text];
  return [points.slice(0, 9).join(''), points.slice(9).join('')];
}

function event(type: string, body: object): string {
  return `event: ${type}\n${data({ type, ...body })}`;
}

function chunk(delta: object, finish_reason: string | null = null): string {
  return data({ id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason }] });
}

function data(body: object): string {
  return `data: ${JSON.stringify(body)}\n\n`;
}

function whole(surface: SurfaceName, text: string): string {
  const { events, end } = recorded[surface](text);
  return [...events, ...end].join('');
}

/** One tool call whose arguments are sent as given, in two pieces. */
function toolCall(surface: SurfaceName, input: string, stop: 'calls' | 'length' = 'calls'): string {
  const pieces = [input.slice(0, 3), input.slice(3)];
  if (surface === 'anthropic') {
    return [
      ...recorded.anthropic('Writing.').events,
      event('content_block_start', {
        index: 1,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'write', input: {} },
      }),
      ...pieces.map((partial_json) =>
        event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json } }),
      ),
      event('content_block_stop', { index: 1 }),
      event('message_delta', {
        delta: { stop_reason: stop === 'calls' ? 'tool_use' : 'max_tokens' },
        usage: { output_tokens: 9 },
      }),
      event('message_stop', {}),
    ].join('');
  }
  const call = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] });
  return [
    ...recorded.openai('Writing.').events,
    call({ id: 'call_1', type: 'function', function: { name: 'write', arguments: '' } }),
    ...pieces.map((piece) => call({ function: { arguments: piece } })),
    chunk({}, stop === 'calls' ? 'tool_calls' : 'length'),
    'data: [DONE]\n\n',
  ].join('');
}

/** Sends each piece in a packet of its own, as far as the network lets us. */
function packets(
  pieces: Iterable<Buffer | string>,
  end: (response: ServerResponse) => void = (response) => response.end(),
) {
  return async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) {
      if (response.destroyed) return;
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    end(response);
  };
}

/** Sends the pieces and then keeps still; `closed` resolves when the other side has gone. */
function unfinished(pieces: readonly string[]) {
  let gone = () => {};
  const closed = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const send = packets(pieces, () => {});
  return {
    closed,
    script: (response: ServerResponse) => {
      response.on('close', gone);
      return send(response);
    },
  };
}

function* bytes(text: string): Iterable<Buffer> {
  for (const byte of Buffer.from(text)) yield Buffer.from([byte]);
}

let server: Recorder | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(...scripts: Parameters<typeof sseServer>): Promise<Recorder> {
  server = await sseServer(...scripts);
  return server;
}

describe.each(SURFACES)('a stream of the %s service', (surface) => {
  const distortions: Record<string, (text: string) => ReturnType<typeof stream>> = {
    'as it was recorded': stream,
    'one byte per packet': (text) => packets(bytes(text)),
    'with CRLF line ends': (text) => stream(text.replaceAll('\n', '\r\n')),
    'with CRLF line ends, one byte per packet': (text) => packets(bytes(text.replaceAll('\n', '\r\n'))),
    'with several data lines per event': (text) => stream(text.replaceAll('{"', '{\ndata: "')),
    'with comments and unknown fields between the events': (text) =>
      stream(`\uFEFF: hello\n\n${text.replaceAll('\n\n', '\n\n: keep-alive\n\nid: 7\nretry: 10\nfoo: bar\n\n')}`),
    'without a space after the colon': (text) => stream(text.replaceAll('data: ', 'data:')),
    'in one packet': (text) => packets([text]),
  };
  test.each(Object.keys(distortions))('gives the same text %s', async (name) => {
    const { url } = await serve(distortions[name]!(whole(surface, TEXT)));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error).toBeUndefined();
    expect(turn.text).toBe(TEXT);
    expect(turn.done?.message.content).toEqual([{ type: 'text', text: TEXT }]);
    expect(turn.done?.stop).toBe('end');
  });

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

  test.each(['garbage', '{"error":', '{"strange":true}'])('a stream that begins with %j is one line', async (text) => {
    const { url, bodies } = await serve(stream(`data: ${text}\n\n`));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toMatch(
      `${surface}: it sent what the protocol does not know: ${text}; gave up after 3`,
    );
    expect(bodies).toHaveLength(3);
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

  const overloaded =
    surface === 'anthropic'
      ? event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
      : data({ error: { type: 'overloaded_error', message: 'Overloaded', code: 529 } });

  test('an overload inside the stream before any content is tried again', async () => {
    const before = recorded[surface]('x').events.slice(0, 1).join('');
    const { url, bodies } = await serve(
      stream(overloaded),
      stream(before + overloaded),
      stream(whole(surface, 'Here I am now.')),
    );
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error).toBeUndefined();
    expect(turn.text).toBe('Here I am now.');
    expect(bodies).toHaveLength(3);
  });

  test('an overload after half of the answer is an error, never a repetition', async () => {
    const { events } = recorded[surface]('Half of the answer');
    const { url, bodies } = await serve(stream([...events, overloaded].join('')));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toBe(`${surface}: overloaded_error in the middle of the answer: Overloaded`);
    expect(turn.text).toBe('Half of the answer');
    expect(turn.done).toBeUndefined();
    expect(bodies).toHaveLength(1);
  });

  test('an answer that stops without its last event is an error, and what came is shown', async () => {
    const { events } = recorded[surface]('Half of the answer');
    const { url } = await serve(stream(events.join('')));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toBe(`${surface}: the connection was lost before the answer was complete`);
    expect(turn.text).toBe('Half of the answer');
    expect(turn.done).toBeUndefined();
  });

  test('a call whose end never came is no call', async () => {
    const text = toolCall(surface, '{"path":"a.txt"}');
    const { url } = await serve(stream(text.slice(0, text.lastIndexOf('ath') + 3)));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toBe(`${surface}: the connection was lost before the answer was complete`);
    expect(turn.events.some(({ type }) => type === 'tool_call' || type === 'done')).toBe(false);
  });

  test('a reset connection is an error, and what came is shown', async () => {
    const { events } = recorded[surface]('Half of the answer');
    const { url } = await serve(
      packets(events, (response) => setTimeout(() => response.socket?.resetAndDestroy(), 30)),
    );
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toBe(`${surface}: the connection was lost before the answer was complete`);
    expect(turn.text).toBe('Half of the answer');
  });

  test('a connection lost before the first word is tried again', async () => {
    const { url, bodies } = await serve(
      (response) => response.socket?.resetAndDestroy() as undefined,
      stream(''),
      stream(whole(surface, 'Third time lucky.')),
    );
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.text).toBe('Third time lucky.');
    expect(bodies).toHaveLength(3);
  });

  test('silence in the middle of the answer ends the turn with an error', async () => {
    const { closed, script } = unfinished(recorded[surface]('Half of the answer').events);
    const { url } = await serve(script);
    const turn = await runTurn(await providerAt(surface, url, { stallMs: 150 }), 'hello');
    expect(turn.error?.message).toBe(`${surface}: no byte came for 0.2 s, the request was given up`);
    expect(turn.text).toBe('Half of the answer');
    await closed;
  });

  test('a server that never answers is given up after two more tries', async () => {
    const { url, bodies } = await serve(() => {});
    const turn = await runTurn(await providerAt(surface, url, { stallMs: 60 }), 'hello');
    expect(turn.error?.message).toMatch(/: no byte came for 0\.1 s, the request was given up; gave up after 3 tries/);
    expect(bodies).toHaveLength(3);
  });

  test('signs of life hold off the stall limit', async () => {
    const { events, end } = recorded[surface]('Slow but alive, all the time');
    const { url } = await serve(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of [...events, ': ping\n\n', ': ping\n\n', ...end]) {
        response.write(piece);
        await sleep(60);
      }
      response.end();
    });
    const turn = await runTurn(await providerAt(surface, url, { stallMs: 300 }), 'hello');
    expect(turn.error).toBeUndefined();
    expect(turn.text).toBe('Slow but alive, all the time');
  });

  test('a reader that takes its time is not a stalled server', async () => {
    const { url } = await serve(stream(whole(surface, 'Patience pays off.')));
    const provider = await providerAt(surface, url, { stallMs: 50 });
    let text = '';
    for await (const event of provider.stream(
      request([{ role: 'user', content: 'hello' }]),
      new AbortController().signal,
    )) {
      if (event.type === 'text') text += event.delta;
      await sleep(120);
    }
    expect(text).toBe('Patience pays off.');
  });

  test('an abort closes the connection', async () => {
    const { closed, script } = unfinished(recorded[surface]('Half of the answer').events);
    const { url, bodies } = await serve(script);
    const abort = new AbortController();
    const turn = await runTurn(
      await providerAt(surface, url),
      request([{ role: 'user', content: 'hello' }]),
      abort.signal,
      () => setTimeout(() => abort.abort(new Error('stop')), 30),
    );
    expect(turn.error?.message).toBe('stop');
    expect(turn.text).toBe('Half of the answer');
    await closed;
    expect(bodies).toHaveLength(1);
  });

  test('a reader that leaves early closes the connection', async () => {
    const { closed, script } = unfinished(recorded[surface]('Half of the answer').events);
    const { url } = await serve(script);
    const provider = await providerAt(surface, url);
    const asked = request([{ role: 'user', content: 'hello' }]);
    for await (const event of provider.stream(asked, new AbortController().signal)) {
      if (event.type === 'text') break;
    }
    await closed;
  });

  test('an HTML page as error is named, not printed, and tried again', async () => {
    const page = `<!doctype html>\n<html><head><title>502 Bad\n Gateway</title></head><body>${'x'.repeat(9000)}</body></html>`;
    const { url, bodies } = await serve(answer(500, page, { 'content-type': 'text/html' }));
    const retry = { retries: 1, baseMs: 1, maxDelayMs: 1, totalMs: 1000 };
    const turn = await runTurn(await providerAt(surface, url, { retry }), 'hello');
    expect(turn.error?.message).toBe(
      `${surface}: HTTP 500: an HTML page, "502 Bad Gateway"; gave up after 2 tries in 0 s`,
    );
    expect(bodies).toHaveLength(2);
  });

  test('a web page instead of a stream points to base_url', async () => {
    const { url, bodies } = await serve(answer(200, '<html>Welcome</html>', { 'content-type': 'text/html' }));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toBe(
      `${surface}: it answered with text/html instead of a stream of events; check base_url of [providers.${surface}] (${url}/v1)`,
    );
    expect(bodies).toHaveLength(1);
  });

  test('a redirect is not followed, so that the key stays with its host', async () => {
    const other = await sseServer(stream(whole(surface, 'You should not see this.')));
    const { url } = await serve(answer(307, '', { location: `${other.url}/v1` }));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    await other.close();
    expect(turn.error?.message).toBe(`${surface}: HTTP 307; it moved to ${other.url}/v1; set base_url to that`);
    expect(other.bodies).toHaveLength(0);
  });

  test('a bad request is told in the words of the service, on one line, once', async () => {
    const body = {
      type: 'error',
      error: { type: 'invalid_request_error', message: `prompt is\n\u001b[31mtoo long\u0007 ${KEY}` },
    };
    const { url, bodies } = await serve(answer(400, JSON.stringify(body)));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toBe(`${surface}: HTTP 400 (invalid_request_error): prompt is too long ***`);
    expect(bodies).toHaveLength(1);
  });

  test('Retry-After as a date is waited for', async () => {
    const at = new Date(Date.now() + 20_000).toUTCString();
    const { url } = await serve(answer(429, '{}', { 'retry-after': at }), stream(whole(surface, 'Now it works.')));
    const clock = fastClock();
    const turn = await runTurn(await providerAt(surface, url, { clock }), 'hello');
    expect(turn.text).toBe('Now it works.');
    expect(clock.sleeps).toHaveLength(1);
    expect(clock.sleeps[0]).toBeGreaterThan(15_000);
    expect(clock.sleeps[0]).toBeLessThanOrEqual(20_000);
  });

  test('a Retry-After longer than the limit is not waited for, and the line says so', async () => {
    const { url, bodies } = await serve(answer(429, '{}', { 'retry-after': '3600' }));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toMatch(/HTTP 429.*; it asks to wait 3600 s, which is more than panto waits$/);
    expect(bodies).toHaveLength(1);
  });

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

  test('nobody listening is one line, after two more tries', async () => {
    const { url, close } = await sseServer(stream(''));
    await close();
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toMatch(
      new RegExp(
        `^${surface}: cannot reach 127\\.0\\.0\\.1:\\d+ \\(ECONNREFUSED\\); check the network and base_url; gave up after 3 tries`,
      ),
    );
  });

  test('the key goes into its header and nowhere else', async () => {
    const { url, headers, bodies } = await serve(stream(whole(surface, 'Hi there, you.')));
    await runTurn(await providerAt(surface, url), 'hello');
    expect(headers[0]?.[surface === 'anthropic' ? 'x-api-key' : 'authorization']).toContain(KEY);
    expect(JSON.stringify(bodies)).not.toContain(KEY);
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
