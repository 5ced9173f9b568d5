// Locks of calls: writes to one file queue in call order, whoever makes them; what needs no lock does not wait.
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../lib/core/package-root.js';
import type { Tool } from '../lib/core/types.js';
import {
  declare,
  type PlainSource,
  plainSource,
  play,
  rawSource,
  type ToolResultEvent,
  turnOf,
} from './core-support.js';

const locks = ['/path'];
const nap: Tool = {
  ...declare('nap', { locks }),
  module: pathToFileURL(join(packageRoot, 'test/fixtures/core-tools/nap.mjs')),
};

function editor(): PlainSource {
  return plainSource(
    'editor',
    {
      edit: async (input) => sleep(Number(input.ms), 'edited'),
      look: async (input) => sleep(Number(input.ms), 'seen'),
    },
    { edit: { locks } },
  );
}

let cwd: string;
beforeEach(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), 'panto-locks-')));
});
afterEach(() => rm(cwd, { recursive: true }));

const byId = (results: readonly ToolResultEvent[], id: string) => results.find((event) => event.id === id)!;

function expectInTurn(results: readonly ToolResultEvent[], ...ids: string[]) {
  for (const [index, id] of ids.entries()) {
    if (index > 0) expect(byId(results, id).startedMs).toBeGreaterThanOrEqual(byId(results, ids[index - 1]!).endedMs);
  }
}

test('calls that lock one file run one after another in call order, across owners; the rest overlaps', async () => {
  const source = editor();
  const { agent, run, settled } = play(
    turnOf(
      { name: 'edit', input: { path: 'a', ms: 100 }, id: 'edit a' },
      { name: 'nap', input: { path: './x/../a', ms: 100 }, id: 'nap a' },
      { name: 'edit', input: { path: `${cwd}/a`, ms: 100 }, id: 'edit a again' },
      { name: 'edit', input: { path: 'b', ms: 250 }, id: 'edit b' },
      { name: 'look', input: { path: 'a', ms: 250 }, id: 'look' },
    ).map((turn) => ({
      ...turn,
      tool_calls: turn.tool_calls?.map((call) => ({ ...call, id: call.id!.replaceAll(' ', '_') })) ?? [],
    })),
    [source],
    { cwd },
  );
  agent.registerTool(nap);
  await run();
  await agent.dispose();
  expectInTurn(settled(), 'edit_a', 'nap_a', 'edit_a_again');
  // The calls that had their locks at once are one batch; the one that had to wait followed alone.
  expect(source.batches.map((batch) => batch.ids)).toEqual([['edit_a', 'edit_b', 'look'], ['edit_a_again']]);
  for (const id of ['edit_b', 'look'])
    expect(byId(settled(), id).startedMs).toBeLessThan(byId(settled(), 'edit_a').endedMs);
});

test('in serial mode a batch holds the locks of all its calls, and nothing waits for itself', async () => {
  const source = editor();
  const calls = ['a', 'b', 'a'].map((path) => ({ name: 'edit', input: { path, ms: 5 } }));
  const { run, results, agent } = play(turnOf(...calls, { name: 'nap', input: { path: 'a', ms: 1 } }), [source], {
    cwd,
    parallelTools: false,
  });
  agent.registerTool(nap);
  await run();
  await agent.dispose();
  expect(results().map((part) => part.is_error)).toEqual([false, false, false, false]);
  expect(source.batches).toHaveLength(1);
});

test('a lock of the agent holds a call back, and an abort ends the waiting', async () => {
  const source = editor();
  const { agent, run, results, end } = play(turnOf({ name: 'edit', input: { path: 'a', ms: 1 } }), [source], { cwd });
  const controller = new AbortController();
  await agent.lock(`file:${cwd}/a`, async () => {
    setTimeout(() => controller.abort(), 300);
    await run(controller.signal);
  });
  expect(end().reason).toBe('aborted');
  expect(results()[0]?.content).toBe('edit: cancelled');
  expect(source.batches).toEqual([]);
  expect(await agent.call('edit', { path: 'a', ms: 1 })).toEqual({ ok: true, content: 'edited' });
});

test('a source that never lets go of an aborted call loses its lock all the same', async () => {
  const deaf = rawSource('deaf', [declare('hang', { locks, timeoutMs: 50 })], () => new Promise(() => {}));
  const { agent } = play([], [deaf, editor()], { cwd });
  const hung = agent.call('hang', { path: 'a' });
  await sleep(300);
  const edited = agent.call('edit', { path: 'a', ms: 1 });
  expect(await hung).toMatchObject({ ok: false, error: { kind: 'timeout' } });
  expect(await edited).toMatchObject({ ok: true });
});
