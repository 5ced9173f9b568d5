// What the network does to a stream, replayed byte by byte by a hand-written server on loopback.
import { setTimeout as sleep } from 'node:timers/promises';
import { bytes, packets, recorded, toolCall, unfinished, whole } from './providers-recordings.js';
import { guardProcess, providerAt, request, runTurn, SURFACES, stream, testServers } from './providers-support.js';

guardProcess();
const serve = testServers();

const TEXT = 'Grüße aus 東京 🎉, a line\u2028separator and "quotes"';

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
    const turn = await runTurn(await providerAt(surface, url, { stallMs: 400 }), 'hello');
    expect(turn.error?.message).toBe(`${surface}: no byte came for 0.4 s, the request was given up`);
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
        await sleep(200);
      }
      response.end();
    });
    const turn = await runTurn(await providerAt(surface, url, { stallMs: 1000 }), 'hello');
    expect(turn.error).toBeUndefined();
    expect(turn.text).toBe('Slow but alive, all the time');
  });

  test('a reader that takes its time is not a stalled server', async () => {
    const { url } = await serve(stream(whole(surface, 'Patience pays off.')));
    const provider = await providerAt(surface, url, { stallMs: 400 });
    let text = '';
    for await (const event of provider.stream(
      request([{ role: 'user', content: 'hello' }]),
      new AbortController().signal,
    )) {
      if (event.type !== 'text') continue;
      if (text === '') await sleep(600);
      text += event.delta;
    }
    expect(text).toBe('Patience pays off.');
  });

  test('an abort closes the connection', async () => {
    const { closed, script } = unfinished(recorded[surface]('Half of the answer').events);
    const { url, bodies } = await serve(script);
    const abort = new AbortController();
    let text = '';
    const turn = await runTurn(
      await providerAt(surface, url),
      request([{ role: 'user', content: 'hello' }]),
      abort.signal,
      (event) => {
        if (event.type === 'text') text += event.delta;
        if (text === 'Half of the answer') abort.abort(new Error('stop'));
      },
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
});
