// Many short runs in which sources, gates and the person do what they like at random (seeded): whatever happens, every call has exactly
// one result, told once and in its place.
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchContext, ToolCall } from '../lib/core/types.js';
import { declare, expectPaired, play, rawSource, type ToolResultEvent } from './core-support.js';

/** mulberry32: a small generator with a seed, so that a failure can be repeated. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function wildSource(name: string, random: (below: number) => number) {
  return rawSource(name, [declare(name, { locks: ['/path'], timeoutMs: 150 })], async (calls, batch) => {
    const done = calls.map((call, index) => wildCall(call, index, batch, random));
    if (random(5) === 0) throw new Error('the source gave up');
    if (random(3) > 0) await Promise.all(done);
  });
}

async function wildCall(call: ToolCall, index: number, batch: BatchContext, random: (below: number) => number) {
  const deeds = [
    async () => batch.started(index),
    async () => sleep(random(60)),
    async () => call.update('so far'),
    async () => batch.settled(index, { ok: true, content: 'fine' }),
    async () => batch.settled(index, { ok: false, error: { kind: 'failed', message: 'no' } }),
    async () => batch.settled(random(9) - 2, { ok: true, content: 'whose?' }),
    async () => batch.settled(index, null as never),
    async () => (random(4) === 0 ? new Promise(() => {}) : undefined),
  ];
  for (let count = random(6); count >= 0; count--) await deeds[random(deeds.length)]!();
}

/** Returns the kinds of outcome that it saw. */
async function wildRun(seed: number): Promise<string[]> {
  const random = randomFrom(seed);
  const inputs = ['{}', '{"path":"a"}', '{"path":"b"}', '[]', ''];
  const call = () => ({
    name: ['one', 'two', 'none'][random(3)]!,
    input_text: inputs[random(inputs.length)]!,
    id: `call_${random(4)}`,
  });
  const turns = Array.from({ length: 1 + random(3) }, () => ({ tool_calls: Array.from({ length: random(6) }, call) }));
  const gate = async () => {
    if (random(4) === 0) await sleep(random(30));
    if (random(8) === 0) throw new Error('the gate is broken');
    return random(6) === 0 ? { refuse: 'no' } : random(4) === 0 ? { input: inputs[random(inputs.length)]! } : {};
  };
  const { run, agent, events, settled } = play(turns, [wildSource('one', random), wildSource('two', random)], {
    gates: random(2) === 0 ? { call: gate } : {},
    parallelTools: random(3) > 0,
    cwd: '/',
  });
  const controller = new AbortController();
  if (random(2) === 0) setTimeout(() => controller.abort(), random(120));
  await run(controller.signal);
  expectPaired(agent.messages);
  const parts = agent.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event.id] : []));
  const told = settled().map((event: ToolResultEvent) => event.id);
  expect(parts.map((part) => part.id)).toEqual(calls);
  expect([...told].sort()).toEqual([...calls].sort());
  expect(new Set(calls).size).toBe(calls.length);
  return settled().map(({ result }) => (result.ok ? 'ok' : result.error.kind));
}

test('three hundred wild runs: one result for every call', async () => {
  const failed: string[] = [];
  const seen = await Promise.all(
    Array.from({ length: 300 }, (_, seed) =>
      wildRun(seed).catch((error: Error) => {
        failed.push(`seed ${seed}: ${error.message}`);
        return [];
      }),
    ),
  );
  expect(failed).toEqual([]);
  expect([...new Set(seen.flat())].sort()).toEqual([
    'cancelled',
    'denied',
    'failed',
    'invalid_input',
    'ok',
    'source_failed',
    'timeout',
    'unknown_tool',
  ]);
});
