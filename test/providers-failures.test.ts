// What services answer when they do not answer, sent by a hand-written server on loopback.
import { data, event, recorded, whole } from './providers-recordings.js';
import {
  answer,
  fastClock,
  guardProcess,
  KEY,
  providerAt,
  runTurn,
  SURFACES,
  sseServer,
  stream,
  testServers,
} from './providers-support.js';

guardProcess();
const serve = testServers();

describe.each(SURFACES)('a failure of the %s service', (surface) => {
  test.each(['garbage', '{"error":', '{"strange":true}'])('a stream that begins with %j is one line', async (text) => {
    const { url, bodies } = await serve(stream(`data: ${text}\n\n`));
    const turn = await runTurn(await providerAt(surface, url), 'hello');
    expect(turn.error?.message).toMatch(
      `${surface}: it sent what the protocol does not know: ${text}; gave up after 3`,
    );
    expect(bodies).toHaveLength(3);
  });

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
