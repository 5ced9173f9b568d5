// Native tools on worker threads: what overlaps, what queues, and that whatever a tool does costs its own call only.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { distUrl, packageRoot } from '../lib/core/package-root.js';
import type { AgentOptions, CallResult, Tool, ToolDecl } from '../lib/core/types.js';
import { WorkerPool } from '../lib/core/worker-pool.js';
import type { ScriptedTurn } from '../lib/providers/scripted.js';
import { declare, expectOverlap, expectPaired, type Play, plainSource, play, turnOf } from './core-support.js';

const fixtures = pathToFileURL(join(packageRoot, 'test/fixtures/core-tools/'));

function native(name: string, more: Partial<ToolDecl> = {}): Tool {
  return { ...declare(name, more), module: new URL(`${name}.mjs`, fixtures) };
}

const opened: Play[] = [];
afterEach(async () => {
  for (const { agent } of opened.splice(0)) await agent.dispose();
});

function playNative(turns: readonly ScriptedTurn[], tools: readonly Tool[], options: Partial<AgentOptions> = {}) {
  const played = play(turns, [], options);
  for (const tool of tools) expect(played.agent.registerTool(tool).refused).toBeUndefined();
  opened.push(played);
  return played;
}

const contents = (played: Play, turn = 0) => played.results(turn).map((part) => part.content);

test('native calls of one turn overlap, with each other and with a source, and their threads are used again', async () => {
  const nap = { name: 'nap', input: { ms: 300 } };
  const source = plainSource('s', { wait: async () => sleep(300, 'waited') });
  const played = playNative(
    [{ tool_calls: [nap, { name: 'wait' }, nap] }, { tool_calls: [nap] }, {}],
    [native('nap')],
    {
      cwd: '/tmp',
    },
  );
  played.agent.registerToolSource(source);
  await played.run();
  expect(contents(played)).toEqual(['napped in /tmp', 'waited', 'napped in /tmp']);
  expectOverlap(played.settled().slice(0, 3));
  const threads = played.results(0).flatMap((part) => (part.details ? [part.details] : []));
  expect(new Set(threads.map((details) => JSON.stringify(details))).size).toBe(2);
  expect(threads).toContainEqual(played.results(1)[0]?.details);
  const updates = played.events.filter((event) => event.type === 'tool_update');
  expect(updates.map((event) => event.partial)).toEqual(['napping 300', 'napping 300', 'napping 300']);
});

test('no more calls run at once than there are workers; the rest queue in order', async () => {
  const calls = Array.from({ length: 6 }, (_, n) => ({ name: 'nap', input: { ms: 60 }, id: `c${n}` }));
  const played = playNative(turnOf(...calls), [native('nap')], { workers: 2 });
  await played.run();
  const stamps = played.settled().flatMap((event) => [
    { at: event.startedMs, by: 1 },
    { at: event.endedMs, by: -1 },
  ]);
  stamps.sort((one, other) => one.at - other.at || one.by - other.by);
  let running = 0;
  const most = Math.max(...stamps.map(({ by }) => (running += by)));
  expect(most).toBe(2);
  const inTime = [...played.settled()].sort((one, other) => one.startedMs - other.startedMs);
  expect(inTime.map((event) => event.id)).toEqual(calls.map((call) => call.id));
});

test('without parallel tools, native calls run one after another', async () => {
  const calls = Array.from({ length: 3 }, () => ({ name: 'nap', input: { ms: 30 } }));
  const played = playNative(turnOf(...calls), [native('nap')], { parallelTools: false });
  await played.run();
  const [a, b, c] = played.settled();
  expect(b!.startedMs).toBeGreaterThanOrEqual(a!.endedMs);
  expect(c!.startedMs).toBeGreaterThanOrEqual(b!.endedMs);
});

test('whatever a tool does, its call gets a result that names the tool, and its siblings get theirs', async () => {
  const ways = ['exit', 'throw', 'throw nil', 'nothing', 'function', 'stray', 'observation', 'environment', 'fine'];
  const played = playNative(
    turnOf(...ways.map((way) => ({ name: 'odd', input: { way } })), { name: 'broken' }, { name: 'no-run' }),
    [native('odd'), native('broken'), native('no-run')],
  );
  await played.run();
  expect(contents(played)).toEqual([
    'odd: its worker thread ended: exited with code 3',
    'odd: of that kind',
    'odd: undefined',
    'odd: "run" returned neither content nor { content }',
    expect.stringMatching(/^odd: .*could not be cloned/),
    'odd: its worker thread ended: from a timer',
    'exit status 1',
    [{ type: 'text', text: 'number' }],
    'fine: {"way":"fine"}',
    'broken: not today',
    expect.stringMatching(/^no-run: its module file:.*no-run\.mjs exports no function "run"$/),
  ]);
  expect(played.results()[6]?.is_error).toBe(true);
  expectPaired(played.agent.messages);
});

test('a tool that uses up its memory ends its own worker only', async () => {
  const pool = new WorkerPool({ limit: 2, heapMb: 32 });
  const start = (way: string) =>
    new Promise<CallResult>((onResult) => {
      void pool.run({
        id: way,
        tool: 'odd',
        module: native('odd').module.href,
        input: JSON.stringify({ way }),
        cwd: '/',
        signal: new AbortController().signal,
        onStart() {},
        onUpdate() {},
        onResult,
      });
    });
  const memory = start('memory');
  expect(await start('fine')).toEqual({ ok: true, content: 'fine: {"way":"fine"}' });
  expect(await memory).toMatchObject({ ok: false, error: { kind: 'out_of_memory', where: 'odd' } });
  expect(await start('again')).toMatchObject({ ok: true });
  await pool.dispose();
  expect(await start('late')).toMatchObject({ ok: false, error: { message: 'the agent has been closed' } });
});

test('what a tool prints is told as an event, not printed', async () => {
  const played = playNative(turnOf({ name: 'odd', input: { way: 'print' } }), [native('odd')]);
  await played.run();
  expect(played.events.filter((event) => event.type === 'tool_output')).toEqual([
    { type: 'tool_output', name: 'odd', text: 'to stdout\n' },
    { type: 'tool_output', name: 'odd', text: 'to stderr\n' },
  ]);
});

test('a tool that stops when told to may return what it has, and keeps its worker', async () => {
  const napCall = { name: 'nap', input: { ms: 1 } };
  const played = playNative(
    [{ tool_calls: [napCall, { name: 'odd', input: { way: 'stop early' } }] }, { tool_calls: [napCall] }, {}],
    [native('odd'), native('nap')],
    { workers: 1 },
  );
  const controller = new AbortController();
  played.agent.on((event) => event.type === 'tool_result' && setTimeout(() => controller.abort(), 100));
  await played.run(controller.signal);
  expect(contents(played)[1]).toBe('odd: cancelled\nOutput until then:\nstopped: AbortError cancelled');
  await played.run();
  expect(played.results(1)[0]?.details).toEqual(played.results(0)[0]?.details);
});

test('a tool that does not stop keeps what it told; calls that wait for a worker are cancelled at once', async () => {
  const controller = new AbortController();
  const played = playNative(
    turnOf(
      { name: 'spin' },
      { name: 'nap', input: { ms: 5 } },
      { name: 'nap', input: { ms: 60_000 } },
      { name: 'nap', input: { ms: 5 } },
    ),
    [native('spin'), native('nap')],
    { workers: 2 },
  );
  const told = new Set<unknown>();
  played.agent.on((event) => {
    if (event.type !== 'tool_update') return;
    told.add(event.partial);
    if (told.has('spinning') && told.has('napping 60000')) controller.abort();
  });
  await played.run(controller.signal);
  expect(played.end().reason).toBe('aborted');
  expect(contents(played)).toEqual([
    'spin: cancelled\nOutput until then:\nspinning',
    `napped in ${process.cwd()}`,
    'nap: cancelled\nOutput until then:\nnapping 60000',
    'nap: cancelled',
  ]);
});

test('a deadline ends a busy loop as a timeout, and the next call of the tool works', async () => {
  const played = playNative(
    [{ tool_calls: [{ name: 'spin' }] }, { tool_calls: [{ name: 'nap', input: { ms: 1 } }] }, {}],
    [native('spin', { timeoutMs: 300 }), native('nap')],
    { workers: 1 },
  );
  await played.run();
  expect(contents(played)).toEqual([expect.stringMatching(/^spin: timed out after 0\.3 s/)]);
  expect(played.results(1)[0]?.is_error).toBe(false);
});

test('a busy loop is aborted fifty times: each has its result, no thread is left', async () => {
  const threads = () => readdirSync('/proc/self/task').length;
  const played = playNative(
    Array.from({ length: 13 }, () => ({ tool_calls: Array(4).fill({ name: 'spin' }) })),
    [native('spin')],
  );
  const before = threads();
  for (let round = 0; round < 13; round++) {
    const controller = new AbortController();
    let spinning = 0;
    const off = played.agent.on((event) => {
      if (event.type === 'tool_update' && ++spinning === 4) setTimeout(() => controller.abort(), 30);
    });
    await played.run(controller.signal);
    off();
  }
  const results = played.settled();
  expect(results).toHaveLength(52);
  expect(results.every(({ result }) => !result.ok && result.error.kind === 'cancelled')).toBe(true);
  expectPaired(played.agent.messages);
  for (let wait = 0; threads() > before && wait < 100; wait++) await sleep(50);
  expect(threads()).toBeLessThanOrEqual(before);
}, 120_000);

test('workers are terminated in the middle of calls when the agent closes, and every call has its result', async () => {
  const played = playNative(turnOf(...Array(6).fill({ name: 'spin' })), [native('spin')]);
  const spinning = new Promise<void>((resolve) => {
    played.agent.on((event) => event.type === 'tool_update' && resolve());
  });
  const running = played.run();
  await spinning;
  await played.agent.dispose();
  await running;
  expect(played.results()).toHaveLength(6);
  expect(contents(played).every((content) => String(content).startsWith('spin: '))).toBe(true);
});

test('idle workers do not keep a process alive, and many listeners on the signal of a turn make no warning', async () => {
  const program = `
    import { Agent } from ${JSON.stringify(distUrl('index').href)};
    let turn = 0;
    const provider = {
      id: 'naps',
      async *stream() {
        const content = Array.from({ length: turn++ === 0 ? 20 : 0 }, (_, n) => (
          { type: 'tool_call', id: 'call' + n, name: 'nap', input: '{"ms":5,"heed":true}' }
        ));
        yield { type: 'done', message: { role: 'assistant', content }, usage: { input: 0, output: 0 }, stop: 'end' };
      },
    };
    const gates = { call: async () => ({}), result: async (_call, result) => result };
    const agent = new Agent({ provider, gates, cwd: '/' });
    const module = new URL(${JSON.stringify(native('nap').module.href)});
    agent.registerTool({ name: 'nap', description: '', inputSchema: { type: 'object' }, module });
    const [, , { content }] = await agent.run('go', { signal: new AbortController().signal });
    console.log(JSON.stringify(content.map((part) => part.content)));
  `;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    cwd: tmpdir(),
    timeout: 30_000,
  });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual(Array(20).fill('napped in /'));
});
