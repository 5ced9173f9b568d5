// One turn: what runs together, in which order results stand, and what each kind of failure costs (only itself).
import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolCall } from '../lib/core/types.js';
import { declare, expectOverlap, expectPaired, plainSource, play, rawSource, turnOf } from './core-support.js';

const waiter = () =>
  plainSource('waiter', {
    wait: async (input) => {
      await sleep(Number(input.ms));
      return `waited ${input.ms}`;
    },
  });

test('all calls of one turn that target a source are one batch, and they overlap', async () => {
  const source = waiter();
  const calls = Array.from({ length: 16 }, () => ({ name: 'wait', input: { ms: 100 } }));
  const { run, settled, end } = play(turnOf(...calls), [source]);
  await run();
  expect(source.batches.map((batch) => batch.ids.length)).toEqual([16]);
  expect(settled()).toHaveLength(16);
  expectOverlap(settled());
  expect(end()).toEqual({ type: 'agent_end', reason: 'done' });
});

test('results are told as they settle and stand in the order of the calls', async () => {
  const slow = waiter();
  const other = plainSource('other', { nap: async (input) => sleep(Number(input.ms), `napped ${input.ms}`) });
  const turns = turnOf(
    { name: 'wait', input: { ms: 400 }, id: 'first' },
    { name: 'nap', input: { ms: 50 }, id: 'second' },
    { name: 'wait', input: { ms: 200 }, id: 'third' },
  );
  const { run, results, settled } = play(turns, [slow, other]);
  await run();
  expect(settled().map((event) => event.id)).toEqual(['second', 'third', 'first']);
  expectOverlap(settled());
  expect(results()).toEqual([
    { type: 'tool_result', id: 'first', name: 'wait', is_error: false, content: 'waited 400' },
    { type: 'tool_result', id: 'second', name: 'nap', is_error: false, content: 'napped 50' },
    { type: 'tool_result', id: 'third', name: 'wait', is_error: false, content: 'waited 200' },
  ]);
});

test('a call that fails leaves its siblings their results', async () => {
  const source = plainSource('s', {
    good: () => 'fine',
    bad: () => {
      throw new Error('broken\nin two lines');
    },
  });
  const { run, results, agent } = play(turnOf({ name: 'good' }, { name: 'bad' }, { name: 'good' }), [source]);
  await run();
  expect(results().map((part) => [part.is_error, part.content])).toEqual([
    [false, 'fine'],
    [true, 'bad: broken\nin two lines'],
    [false, 'fine'],
  ]);
  expectPaired(agent.messages);
});

test.each([
  ['', 'the arguments are empty'],
  ['{"a":', 'not valid JSON'],
  ['nul', 'not valid JSON'],
  ['[1]', 'must be a JSON object'],
  ['null', 'must be a JSON object'],
  ['{"a":1,"b":{"a":2},"a":3}', 'name the key "a" twice'],
  ['{"a":1,}', 'not valid JSON'],
])('the arguments %j are an error result that names tool and cause, and can be sent again', async (text, cause) => {
  const source = plainSource('s', { echo: (input) => JSON.stringify(input) });
  const { run, results, agent } = play(turnOf({ name: 'echo', input_text: text }, { name: 'echo', input: { ok: 1 } }), [
    source,
  ]);
  await run();
  const [bad, good] = results();
  expect(bad?.is_error).toBe(true);
  expect(bad?.content).toMatch(/^echo: /);
  expect(bad?.content).toContain(cause);
  expect(good?.content).toBe('{"ok":1}');
  const assistant = agent.messages.find((message) => message.role === 'assistant');
  const inputs = assistant?.content.map((part) => (part.type === 'tool_call' ? JSON.parse(part.input) : part));
  expect(inputs).toEqual([{}, { ok: 1 }]);
});

test('integers beyond 2^53 reach the source as they were sent', async () => {
  const texts: string[] = [];
  const source = rawSource('s', [declare('keep')], async (calls, batch) => {
    texts.push(calls[0]!.input);
    batch.settled(0, { ok: true, content: '' });
  });
  await play(turnOf({ name: 'keep', input_text: '{"n": 9007199254740993}' }), [source]).run();
  expect(texts).toEqual(['{"n": 9007199254740993}']);
});

test('the calls of a message that was cut at the token limit are not run, and the model is told', async () => {
  let runs = 0;
  const source = plainSource('s', { write: () => `run ${++runs}` });
  const turns = [
    {
      stop: 'length' as const,
      tool_calls: [
        { name: 'write', input: { path: 'a.txt' } },
        { name: 'write', input_text: '{"path":"a.txt"' },
      ],
    },
    { text: 'I see.' },
  ];
  const { run, results, end } = play(turns, [source]);
  await run();
  expect(runs).toBe(0);
  for (const part of results()) {
    expect(part.is_error).toBe(true);
    expect(part.content).toMatch(/^write: not run: the message was truncated/);
  }
  expect(results()).toHaveLength(2);
  expect(end().reason).toBe('done');
});

test('an unknown tool and arguments against the schema are error results with path and cause', async () => {
  const schema = {
    type: 'object',
    properties: { path: { type: 'string' }, lines: { type: 'array', items: { type: 'integer' } } },
    required: ['path'],
    additionalProperties: false,
  };
  const source = plainSource('s', { read: () => 'text' }, { read: { inputSchema: schema } });
  const { run, results } = play(
    turnOf(
      { name: 'reed', input: {} },
      { name: 'read', input: { lines: [1, 'x'], extra: 1 } },
      { name: 'read', input: { path: 'a' } },
    ),
    [source],
  );
  await run();
  expect(results().map((part) => part.content)).toEqual([
    'reed: there is no tool of this name; the tools are: read',
    "read: invalid arguments: must have required property 'path'; unknown property 'extra'; /lines/1: must be integer",
    'text',
  ]);
});

describe('a source that misbehaves', () => {
  const twice = turnOf({ name: 'x', id: 'a' }, { name: 'x', id: 'b' });
  const run = async (invokeBatch: Parameters<typeof rawSource>[2]) => {
    const { run, results } = play(twice, [rawSource('odd', [declare('x')], invokeBatch)]);
    await run();
    return results().map((part) => part.content);
  };

  test('that rejects, fails what had not settled', async () => {
    const contents = await run(async (_calls, batch) => {
      batch.settled(0, { ok: true, content: 'in time' });
      throw new Error('out of order');
    });
    expect(contents).toEqual(['in time', 'x: odd failed: out of order']);
  });

  test('that throws before it returns a promise, fails its calls', async () => {
    const contents = await run(() => {
      throw new TypeError('not a function');
    });
    expect(contents).toEqual(['x: odd failed: not a function', 'x: odd failed: not a function']);
  });

  test('that settles twice, keeps the first result', async () => {
    const contents = await run(async (_calls, batch) => {
      for (const content of ['one', 'two']) {
        batch.settled(0, { ok: true, content });
        batch.settled(1, { ok: true, content });
      }
    });
    expect(contents).toEqual(['one', 'one']);
  });

  test('that settles an index it was not given and leaves one out, fails that one', async () => {
    const contents = await run(async (_calls, batch) => {
      batch.started(7);
      batch.settled(7, { ok: true, content: 'whose?' });
      batch.settled(-1, { ok: true, content: 'whose?' });
      batch.settled(1, { ok: true, content: 'mine' });
    });
    expect(contents).toEqual(['x: odd ended its batch without a result for this call', 'mine']);
  });

  test('that settles with no result, fails that call', async () => {
    const contents = await run(async (_calls, batch) => {
      batch.settled(0, undefined as never);
      batch.settled(1, { ok: true } as never);
    });
    expect(contents).toEqual(Array(2).fill('odd: it settled with a value that is no result'));
  });

  test('that never returns after all calls have settled, does not hold the turn', async () => {
    const contents = await run((_calls, batch) => {
      batch.settled(0, { ok: true, content: 'one' });
      batch.settled(1, { ok: true, content: 'two' });
      return new Promise(() => {});
    });
    expect(contents).toEqual(['one', 'two']);
  });
});

test('without parallel tools, groups run one after another in order of their first call, a batch in order', async () => {
  const first = waiter();
  const second = plainSource('second', { nap: async (input) => sleep(Number(input.ms), 'napped') });
  const turns = turnOf(
    { name: 'wait', input: { ms: 60 }, id: 'a' },
    { name: 'nap', input: { ms: 10 }, id: 'b' },
    { name: 'wait', input: { ms: 20 }, id: 'c' },
  );
  const { run, settled, results } = play(turns, [second, first], { parallelTools: false });
  await run();
  expect(first.batches).toEqual([{ ids: ['a', 'c'], serial: true }]);
  expect(second.batches).toEqual([{ ids: ['b'], serial: true }]);
  const inTime = [...settled()].sort((one, other) => one.startedMs - other.startedMs);
  expect(inTime.map((event) => event.id)).toEqual(['a', 'c', 'b']);
  for (const [index, event] of inTime.entries()) {
    if (index > 0) expect(event.startedMs).toBeGreaterThanOrEqual(inTime[index - 1]!.endedMs);
  }
  expect(results().map((part) => part.id)).toEqual(['a', 'b', 'c']);
});

test('a turn of 4096 calls has 4096 results, in order and from one batch', async () => {
  const source = plainSource('s', { n: (input) => String(input.n) }, { n: { locks: ['/path'] } });
  const calls = Array.from({ length: 4096 }, (_, n) => ({ name: 'n', input: { n } }));
  const { run, results, agent } = play(turnOf(...calls), [source], {
    gates: { call: async () => ({}), result: async (_call, result) => result },
  });
  await run();
  expect(source.batches).toHaveLength(1);
  expect(results().map((part) => part.content)).toEqual(calls.map((_, n) => String(n)));
  expectPaired(agent.messages);
});

test('ids that a provider repeats, leaves out or writes oddly become unique, from the first delta on', async () => {
  const source = plainSource('s', { say: (input) => String(input.n) });
  const again = { tool_calls: [0, 1].map((n) => ({ name: 'say', input: { n }, id: 'call_0' })) };
  const odd = { tool_calls: ['', 'a b', 'x'.repeat(65)].map((id, n) => ({ name: 'say', input: { n }, id })) };
  const { run, results, agent, events } = play([again, again, odd, { text: 'Done.' }], [source]);
  await run();
  const ids = [0, 1, 2].flatMap((turn) => results(turn).map((part) => part.id));
  expect(new Set(ids).size).toBe(7);
  expect(ids[0]).toBe('call_0');
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expectPaired(agent.messages);
  const parts = agent.messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  expect(parts.slice(0, 4)).toMatchObject([{}, ...Array(3).fill({ provider_id: 'call_0' })]);
  const streamed = events.flatMap((event) =>
    event.type === 'delta' && event.event.type === 'tool_call' ? [event.event.id] : [],
  );
  expect(streamed).toEqual(ids);
});

test('updates of a call are told while it runs', async () => {
  const source = plainSource('s', {
    work: async (_input, call: ToolCall) => {
      call.update('half');
      await sleep(1);
      return 'whole';
    },
  });
  const { run, events } = play(turnOf({ name: 'work', id: 'w' }), [source]);
  await run();
  const told = events.filter((event) => event.type === 'tool_update' || event.type === 'tool_result');
  expect(told).toMatchObject([
    { type: 'tool_update', id: 'w', partial: 'half' },
    { type: 'tool_result', id: 'w' },
  ]);
});
