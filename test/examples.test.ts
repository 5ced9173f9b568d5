// examples/ as a new user tries them: copied into the user's folders, run by the real command with a scripted model.
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import { Place } from './cli-support.js';
import { LuaHarness, testTree } from './lua-support.js';

interface Result {
  readonly type: 'tool_result';
  readonly id: string;
  readonly name: string;
  readonly is_error: boolean;
  readonly content: string;
  readonly details?: Record<string, unknown>;
  readonly started_ms: number;
  readonly ended_ms: number;
}
interface Call {
  readonly name: string;
  readonly input: Record<string, unknown>;
}

const examples = join(packageRoot, 'examples');
let place: Place;
const servers: Server[] = [];

beforeEach(() => {
  place = new Place();
  for (const folder of ['extensions', 'tools']) {
    cpSync(join(examples, folder), join(place.home, '.config/panto', folder), { recursive: true });
  }
});
afterEach(async () => {
  place.dispose();
  for (const server of servers.splice(0)) {
    if ('closeAllConnections' in server) (server as ReturnType<typeof createHttpServer>).closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const env = { PANTO_HOME: testTree.pantoHome };

/** Plays one turn for each list of calls; gives the results in call order, all turns in one list. */
async function play(turns: readonly (readonly Call[])[]): Promise<Result[]> {
  const model = place.script([...turns.map((calls) => ({ tool_calls: [...calls] })), { text: 'done' }]);
  const args = ['-p', 'go', '--output', 'jsonl', '--permission', 'auto', '--model', model];
  const { status, stdout, stderr } = await place.run(args, { env });
  if (status !== 0) throw new Error(`status ${status}: ${stderr}`);
  const results = stdout
    .split('\n')
    .filter((line) => line.startsWith('{"type":"tool_result"'))
    .map((line) => JSON.parse(line) as Result);
  return turns.flatMap((calls, turn) =>
    calls.map((_call, index) => {
      const found = results.filter(({ id }) => id === `call_${turn + 1}_${index + 1}`);
      expect(found).toHaveLength(1);
      return found[0]!;
    }),
  );
}

async function playOne(name: string, input: Record<string, unknown>): Promise<Result> {
  return (await play([[{ name, input }]]))[0]!;
}

async function listen<T extends Server>(server: T): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const serveHttp = (answer: RequestListener) => listen(createHttpServer(answer));
/** Answers every connection with these bytes and closes it. */
const serveBytes = (bytes: string) =>
  listen(createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(bytes))));

test('every example is listed as loaded', async () => {
  const { stdout } = await place.run(['ext', 'list', '--json'], { env });
  const rows = JSON.parse(stdout) as { layer: string; name?: string; status: string }[];
  const loaded = rows.filter(({ layer }) => layer === 'user').map(({ name, status }) => `${name} ${status}`);
  expect(loaded.sort()).toEqual(
    ['demo.counter', 'demo.greet', 'echo', 'fetch', 'sha256', 'word_count'].map((name) => `${name} loaded`),
  );
  const files = ['extensions', 'tools'].flatMap((folder) => readdirSync(join(examples, folder)));
  expect(files.filter((name) => /\.(lua|mjs)$/.test(name))).toHaveLength(loaded.length);
});

test('echo gives back any text as it is', async () => {
  const text = 'żółć \u0000 漢字 "quoted"\n';
  expect(await playOne('echo', { text })).toMatchObject({ is_error: false, content: text });
});

test('echo refuses what is against its schema', async () => {
  expect(await playOne('echo', { text: 7 })).toMatchObject({
    is_error: true,
    content: expect.stringContaining('string'),
  });
});

test('greet takes its greeting from the settings, as a tool and as a command', async () => {
  expect((await playOne('greet', { name: 'Ala' })).content).toBe('Hello, Ala!');
  place.write('~/.config/panto/config.toml', '[extensions.settings."demo.greet"]\ngreeting = "Dzień dobry"\n');
  expect((await playOne('greet', { name: 'Ala' })).content).toBe('Dzień dobry, Ala!');

  const terminal = place.terminal(['--model', place.script([])], env);
  await terminal.see('> ');
  terminal.type('/greet  Ola \r');
  await terminal.see('Dzień dobry, Ola!');
  terminal.type('/greet\r');
  await terminal.see('Dzień dobry, world!');
  terminal.type('/quit\r');
  expect(await terminal.exited).toBe(0);
});

test('word_count agrees with wc, also where a word crosses a block', async () => {
  const long = `${'a'.repeat(65_530)} bb ${'c'.repeat(140_000)}\n d\n`;
  place.write('long.txt', long);
  place.write('empty.txt', '');
  const [first, second] = await play([
    ['long.txt', 'empty.txt'].map((path) => ({ name: 'word_count', input: { path } })),
  ]);
  expect(first!.content).toBe(`2 lines, 4 words, ${long.length} bytes`);
  expect(first!.details).toEqual({ lines: 2, words: 4, bytes: long.length });
  expect(second!.content).toBe('0 lines, 0 words, 0 bytes');
});

test('word_count says why it cannot count', async () => {
  const [missing, folder] = await play([['no.txt', '.'].map((path) => ({ name: 'word_count', input: { path } }))]);
  expect(missing).toMatchObject({ is_error: true, content: expect.stringContaining('no.txt: No such file') });
  expect(folder).toMatchObject({ is_error: true, content: expect.stringContaining('Is a directory') });
});

test('counter keeps its numbers from call to call and from turn to turn', async () => {
  const calls = (count: number) => Array.from({ length: count }, () => ({ name: 'counter', input: { name: 'a' } }));
  const results = await play([
    calls(3),
    [
      ...calls(2),
      { name: 'counter', input: { name: 'b', add: -4 } },
      { name: 'counter', input: { name: 'a', add: 0 } },
    ],
  ]);
  expect(results.map(({ content }) => content)).toEqual([
    'a = 1',
    'a = 2',
    'a = 3',
    'a = 4',
    'a = 5',
    'b = -4',
    'a = 5',
  ]);
});

test('sha256 hashes a file on a worker, and says which file is missing', async () => {
  const bytes = 'x'.repeat(300_000);
  place.write('some.bin', bytes);
  const [hashed, missing] = await play([['some.bin', 'no.bin'].map((path) => ({ name: 'sha256', input: { path } }))]);
  expect(hashed!.content).toBe(createHash('sha256').update(bytes).digest('hex'));
  expect(missing).toMatchObject({ is_error: true, content: expect.stringContaining('no.bin') });
});

describe('fetch', () => {
  const fetchAll = (urls: readonly string[]) => play([urls.map((url) => ({ name: 'fetch', input: { url } }))]);

  test('the requests of one turn wait together and come back in order', async () => {
    let open = 0;
    let most = 0;
    const answers: (() => void)[] = [];
    const url = await serveHttp((request, response) => {
      most = Math.max(most, ++open);
      answers.push(() => response.end(`page ${request.url}`, () => open--));
      // Nobody is answered before all have asked: calls that ran one after another would never end.
      if (answers.length === 8) for (const answer of answers) answer();
    });
    const results = await fetchAll(Array.from({ length: 8 }, (_, i) => `${url}/${i}`));
    expect(most).toBe(8);
    expect(results.map(({ content }) => content)).toEqual(Array.from({ length: 8 }, (_, i) => `200 OK\n\npage /${i}`));
    const lastStart = Math.max(...results.map(({ started_ms }) => started_ms));
    expect(lastStart).toBeLessThan(Math.min(...results.map(({ ended_ms }) => ended_ms)));
  });

  test('sends what a server needs and reads what servers send', async () => {
    const asked: Record<string, unknown>[] = [];
    const url = await serveHttp((request, response) => {
      asked.push({ method: request.method, url: request.url, host: request.headers.host });
      if (request.url === '/moved') response.writeHead(302, { Location: '/there' }).end();
      else if (request.url === '/missing') response.writeHead(404).end('nothing here');
      else if (request.url === '/chunks?a=1') {
        response.write('first, ');
        response.end('second');
      } else response.end('x'.repeat(30_000));
    });
    const [chunks, moved, missing, long] = await fetchAll(
      ['/chunks?a=1#part', '/moved', '/missing', ''].map((path) => url + path),
    );
    expect(chunks).toMatchObject({ content: '200 OK\n\nfirst, second', details: { status: 200, bytes: 13 } });
    expect(moved!.content).toBe('302 Found\nlocation: /there\n\n');
    expect(missing).toMatchObject({ is_error: true, content: '404 Not Found\n\nnothing here' });
    expect(long!.content.endsWith('x\n[the first 20000 of 30000 bytes]')).toBe(true);
    expect(asked).toContainEqual({ method: 'GET', url: '/', host: url.slice('http://'.length) });
  });

  test('an answer that is cut, none or something else is an error, never half a page', async () => {
    const urls = await Promise.all([
      serveBytes('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'),
      serveBytes('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'),
      serveBytes('HTTP/1.1 200 OK\r\nContent-'),
      serveBytes('SSH-2.0-OpenSSH\r\n'),
      serveBytes(''),
    ]);
    const results = await fetchAll(urls);
    expect(results.every(({ is_error }) => is_error)).toBe(true);
    const causes = [
      'the connection ended before the whole body had come',
      'the connection ended before the whole body had come',
      'the answer ends within its headers',
      'the answer is not HTTP/1',
      'the server closed without an answer',
    ];
    results.forEach(({ content }, i) => {
      expect(content).toContain(`${urls[i]}: ${causes[i]}`);
    });
  });

  test('an answer without end is stopped', async () => {
    const url = await serveHttp((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('y'.repeat(65_536)));
        response.once('drain', more);
      };
      more();
    });
    expect((await fetchAll([url]))[0]).toMatchObject({
      is_error: true,
      content: expect.stringContaining('the response is larger than 4194304 bytes'),
    });
  });

  test('says what is wrong with an address, or that nobody answers there', async () => {
    const closed = createServer();
    const url = await listen(closed);
    await new Promise((resolve) => servers.pop()!.close(resolve));
    const bad = ['https://localhost/', 'http://a b/', 'http://u:p@localhost/', 'http://localhost:99999/', 'http:///x'];
    const results = await fetchAll([url, 'http://no-such-host.invalid/', ...bad]);
    const causes = [
      'ECONNREFUSED',
      'cannot find no-such-host.invalid',
      'not an http:// URL',
      'a space or a control character',
      'name or password',
      'not a host and port: localhost:99999',
      'not an http:// URL',
    ];
    results.forEach(({ is_error, content }, i) => {
      expect([is_error, content]).toEqual([true, expect.stringContaining(causes[i]!)]);
    });
  });

  test('a call that is cancelled closes its socket at once', async () => {
    const connected: Socket[] = [];
    let onConnection = () => {};
    const url = await listen(
      createServer((socket) => {
        connected.push(socket.on('error', () => {}));
        onConnection();
      }),
    );
    const lua = await LuaHarness.start();
    try {
      const path = join(examples, 'extensions/fetch.lua');
      const dir = path.replace(/\.lua$/, '');
      for (const { id } of await lua.runtime.evaluate({ path, dir, display: 'fetch.lua' })) {
        await lua.runtime.activate(id);
      }
      const stopping = new AbortController();
      const asked = new Promise<void>((resolve) => {
        onConnection = resolve;
      });
      const call = lua.batch([{ tool: 'fetch', input: { url }, signal: stopping.signal }]);
      await asked;
      const closed = new Promise((resolve) => connected[0]!.resume().once('close', resolve));
      stopping.abort();
      await closed;
      expect((await call)[0]!.result).toMatchObject({ ok: false });
    } finally {
      lua.stop();
    }
  });
});

test('the first extension of the README works as it stands there', async () => {
  const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');
  const source = /```lua\n([\s\S]*?)```/.exec(readme)?.[1];
  place.write('~/.config/panto/extensions/line_count.lua', source!);
  place.write('a.txt', 'one\ntwo\n');
  expect((await playOne('line_count', { path: 'a.txt' })).content).toBe('2 lines');
  expect(await playOne('line_count', { path: 'b.txt' })).toMatchObject({
    is_error: true,
    content: expect.stringContaining('b.txt: No such file'),
  });
});
