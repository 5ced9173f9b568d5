// Aborts and deadlines: in every phase each call gets exactly one result, soon, and what was said so far is kept.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gates, Provider, ToolCall, TurnEvent } from '../lib/core/types.js';
import { declare, expectPaired, type PlainSource, plainSource, play, rawSource, turnOf } from './core-support.js';

const never = () => new Promise<never>(() => {});

/** A step that says when it is reached, and never returns. */
const hang = (hit: () => void) => () => {
  hit();
  return never();
};

/** Runs until `hit` is called, aborts there, and says how long the rest took. */
async function abortWhen(start: (hit: () => void) => ReturnType<typeof play>) {
  const controller = new AbortController();
  let at = 0;
  const played = start(() => {
    at = performance.now();
    controller.abort();
  });
  const added = await played.run(controller.signal);
  expectPaired(played.agent.messages);
  expect(played.end()).toEqual({ type: 'agent_end', reason: 'aborted' });
  return { ...played, added, took: performance.now() - at };
}

test.each<[string, (hit: () => void) => { gates?: Gates; prepare?: PlainSource['prepare'] }]>([
  ['prepare', (hit) => ({ prepare: hang(hit) })],
  ['the batch gate', (hit) => ({ gates: { batch: hang(hit) } })],
  ['the call gate', (hit) => ({ gates: { call: hang(hit) } })],
])('an abort while %s hangs cancels every call of the turn', async (_phase, make) => {
  const source = plainSource('s', { x: () => 'ran' });
  const { results, settled } = await abortWhen((hit) => {
    const { gates, prepare } = make(hit);
    if (prepare) source.prepare = prepare;
    return play(turnOf({ name: 'x' }, { name: 'x' }), [source], gates ? { gates } : {});
  });
  expect(results().map((part) => part.content)).toEqual(['x: cancelled', 'x: cancelled']);
  expect(settled().map(({ result }) => result.ok || result.error.kind)).toEqual(['cancelled', 'cancelled']);
  expect(source.batches).toEqual([]);
});

test.each<[string, (hit: () => void) => Gates]>([
  ['input', (hit) => ({ input: hang(hit) })],
  ['start', (hit) => ({ start: hang(hit) })],
  ['context', (hit) => ({ context: hang(hit) })],
])('an abort while the gate %s hangs ends the run', async (_name, gates) => {
  const { agent } = await abortWhen((hit) => play([{ text: 'Hm.' }], [], { gates: gates(hit) }));
  expect(agent.messages.every((message) => message.role === 'user')).toBe(true);
});

test('an abort while a source runs that ignores its signal settles its calls within about a second', async () => {
  const source = rawSource('deaf', [declare('x')], (calls, batch) => {
    batch.settled(0, { ok: true, content: 'in time' });
    calls[1]!.update('so far');
    return never();
  });
  const { results, took } = await abortWhen((hit) => {
    const played = play(turnOf({ name: 'x' }, { name: 'x' }, { name: 'x' }), [source]);
    played.agent.on((event) => event.type === 'tool_update' && hit());
    return played;
  });
  expect(results().map((part) => part.content)).toEqual([
    'in time',
    'x: cancelled\nOutput until then:\nso far',
    'x: cancelled',
  ]);
  expect(took).toBeLessThan(5000);
});

test('a source that heeds its signal says itself how its calls ended, and what it says after that is ignored', async () => {
  const reasons: unknown[] = [];
  const source = rawSource('good', [declare('x')], async (calls, batch) => {
    await new Promise((resolve) => calls[0]!.signal.addEventListener('abort', resolve));
    reasons.push(calls[0]!.signal.reason);
    batch.settled(0, { ok: false, error: { kind: 'cancelled', message: 'stopped at line 3' }, partial: 'half' });
    batch.settled(0, { ok: true, content: 'after all' });
    calls[0]!.update('more');
    throw new Error('too late');
  });
  const { results, events } = await abortWhen((hit) => {
    setTimeout(hit, 50);
    return play(turnOf({ name: 'x' }, { name: 'x' }), [source]);
  });
  expect(reasons).toMatchObject([{ name: 'AbortError', kind: 'cancelled' }]);
  expect(results().map((part) => part.content)).toEqual([
    'stopped at line 3\nOutput until then:\nhalf',
    'x: cancelled',
  ]);
  expect(events.filter((event) => event.type === 'tool_update')).toEqual([]);
});

test('an abort while the model streams keeps the text until then, and no call of the unfinished message', async () => {
  const { agent, added } = await abortWhen((hit) => {
    const provider: Provider = {
      id: 'slow',
      async *stream(): AsyncGenerator<TurnEvent> {
        yield { type: 'thinking', delta: 'hm' };
        yield { type: 'text', delta: 'Let me ' };
        yield { type: 'text', delta: 'see' };
        yield { type: 'tool_call', id: 'a', name: 'x', input: '{}' };
        hit();
        await never();
      },
    };
    return play([], [], { provider });
  });
  expect(agent.messages).toEqual([
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [{ type: 'text', text: 'Let me see' }] },
  ]);
  expect(added).toEqual(agent.messages);
});

test('an abort is an abort, whatever the provider throws then', async () => {
  const { agent } = await abortWhen((hit) => {
    const provider: Provider = {
      id: 'rude',
      async *stream(_request, signal): AsyncGenerator<TurnEvent> {
        const broken = new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('socket hang up')));
        });
        yield { type: 'text', delta: 'I' };
        hit();
        await broken;
      },
    };
    return play([], [], { provider });
  });
  expect(agent.messages.at(-1)?.content).toEqual([{ type: 'text', text: 'I' }]);
});

test('a run whose signal is aborted beforehand says nothing to the model', async () => {
  const { agent, end } = play([{ text: 'Hm.' }], []);
  await agent.run('go', { signal: AbortSignal.abort() });
  expect(end().reason).toBe('aborted');
  expect(agent.messages).toEqual([]);
});

test('a call past its deadline is a timeout for itself only; its own limit wins over the default', async () => {
  const reasons: unknown[] = [];
  const stall = (_input: unknown, call: ToolCall) =>
    new Promise<string>((_resolve, reject) => {
      call.signal.addEventListener('abort', () => {
        reasons.push(call.signal.reason);
        reject(call.signal.reason);
      });
    });
  const source = plainSource(
    's',
    { brief: stall, usual: stall, patient: async () => sleep(400, 'made it') },
    { brief: { timeoutMs: 50 }, patient: { timeoutMs: 0 } },
  );
  const deaf = rawSource('deaf', [declare('deaf', { timeoutMs: 50 })], never);
  const turns = turnOf({ name: 'brief' }, { name: 'usual' }, { name: 'patient' }, { name: 'deaf' });
  const { run, results, settled, end } = play(turns, [source, deaf], { toolTimeoutMs: 200 });
  await run();
  expect(reasons).toMatchObject([
    { name: 'TimeoutError', kind: 'timeout' },
    { name: 'TimeoutError', kind: 'timeout' },
  ]);
  expect(results().map((part) => part.content)).toEqual([
    'brief: timed out after 0.05 s',
    'usual: timed out after 0.2 s',
    'made it',
    'deaf: timed out after 0.05 s',
  ]);
  expect(settled().map((event) => event.name)).toEqual(['brief', 'usual', 'patient', 'deaf']);
  expect(end().reason).toBe('done');
});

test('a deadline does not run while it is paused, and moves by that time', async () => {
  const deadlines: number[] = [];
  const { agent, run, results } = play(turnOf({ name: 'ask', id: 'q' }, { name: 'ask', id: 'r' }), [
    plainSource(
      's',
      {
        ask: async (_input, call) => {
          const resume = call.id === 'q' ? agent.pauseDeadline(call.id) : () => {};
          deadlines.push(call.deadline);
          await sleep(500, undefined, { signal: call.signal });
          resume();
          resume();
          deadlines.push(call.deadline);
          return 'answered';
        },
      },
      { ask: { timeoutMs: 200 } },
    ),
  ]);
  await run();
  expect(results()[0]?.content).toBe('answered');
  expect(results()[1]?.is_error).toBe(true);
  expect(deadlines.at(-1)! - deadlines[0]!).toBeGreaterThan(400);
});

test('in a serial batch the time of a call begins with its turn', async () => {
  const source = plainSource('s', { x: async () => sleep(150, 'ran') }, { x: { timeoutMs: 300 } });
  const calls = Array.from({ length: 4 }, () => ({ name: 'x' }));
  const { run, results } = play(turnOf(...calls), [source], { parallelTools: false });
  await run();
  expect(results().map((part) => part.content)).toEqual(['ran', 'ran', 'ran', 'ran']);
});

test('a gate of results that hangs holds an aborted turn for a moment only, and shows nothing', async () => {
  const source = plainSource('s', { x: () => 'secret' });
  const { results } = await abortWhen((hit) => play(turnOf({ name: 'x' }), [source], { gates: { result: hang(hit) } }));
  expect(results()[0]?.content).toBe('x: the call ran, but a gate of its result failed: cancelled');
});

test('closing the agent cancels what runs and disposes its sources', async () => {
  let disposed = 0;
  const source = rawSource('s', [declare('x')], never);
  source.dispose = async () => {
    disposed++;
  };
  const { agent, run, end, results } = play(turnOf({ name: 'x' }), [source]);
  const running = run();
  await sleep(300);
  await agent.dispose();
  await running;
  expect(end().reason).toBe('aborted');
  expect(results()[0]?.content).toBe('x: cancelled');
  expect(disposed).toBe(1);
});
