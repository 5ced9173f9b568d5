// The gates around a turn: their order, what they may change, and that an error in one blocks.
import type { CallResult, Gates, Json, Message } from '../lib/core/types.js';
import { declare, plainSource, play, rawSource, turnOf } from './core-support.js';

const numberSchema: Json = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

/** A source that repairs `{"n":"3"}` to `{"n":3}`, and the log of everything that is asked. */
function logged(gates: Gates = {}) {
  const log: string[] = [];
  const source = plainSource(
    's',
    { double: (input) => String(2 * Number(input.n)) },
    {
      double: { inputSchema: numberSchema },
    },
  );
  source.prepare = async (calls) => {
    log.push(`prepare ${calls.map((call) => call.input).join(' ')}`);
    return calls.map((call) => call.input.replace(/"(\d+)"/, '$1'));
  };
  const all: Gates = {
    async batch(calls) {
      log.push(`batch ${calls.map((call) => `${call.id}=${call.input}`).join(' ')}`);
      return new Map();
    },
    async call(call) {
      log.push(`call ${call.id}`);
      return {};
    },
    async result(call, result) {
      log.push(`result ${call.id}`);
      return result;
    },
    ...gates,
  };
  return { log, source, gates: all };
}

test('the steps are: prepare, validate, batch gate, call gate, validate what it changed, run, result gate', async () => {
  const { log, source, gates } = logged({
    call: async (call) => ({ input: call.id === 'a' ? '{"n":10}' : '{"n":"ten"}' }),
  });
  const turns = turnOf(
    { name: 'double', input: { n: '3' }, id: 'a' },
    { name: 'double', input: { n: 4 }, id: 'b' },
    { name: 'double', input: {}, id: 'c' },
  );
  const { run, results } = play(turns, [source], { gates });
  await run();
  expect(log).toEqual([
    'prepare {"n":"3"} {"n":4} {}',
    // c is invalid: no gate is asked about it; its result settles first.
    'result c',
    'batch a={"n":3} b={"n":4}',
    'result b',
    'result a',
  ]);
  expect(results().map((part) => part.content)).toEqual([
    '20',
    'double: a gate changed the call: invalid arguments: /n: must be integer',
    "double: invalid arguments: must have required property 'n'",
  ]);
});

test('a gate refuses some calls of a batch, one call, or lets them pass', async () => {
  const { source, gates } = logged({
    batch: async () => new Map([['a', 'not together']]),
    call: async (call): Promise<{ input?: string } | { refuse: string }> =>
      call.id === 'b' ? { refuse: 'not this one' } : {},
  });
  const turns = turnOf(...['a', 'b', 'c'].map((id) => ({ name: 'double', input: { n: 1 }, id })));
  const { run, results, settled } = play(turns, [source], { gates });
  await run();
  expect(results().map((part) => part.content)).toEqual(['double: not together', 'double: not this one', '2']);
  const kinds = settled().map(({ result }) => (result.ok ? 'ok' : result.error.kind));
  expect(kinds).toEqual(['denied', 'denied', 'ok']);
  expect(source.batches).toEqual([{ ids: ['c'], serial: false }]);
});

test.each(['batch', 'call'] as const)('an error in the %s gate blocks', async (name) => {
  const { source, gates } = logged({
    [name]: async () => {
      throw new Error('the policy is broken');
    },
  });
  const { run, results } = play(turnOf({ name: 'double', input: { n: 1 } }), [source], { gates });
  await run();
  expect(results().map((part) => part.content)).toEqual(['double: a gate failed: the policy is broken']);
  expect(source.batches).toEqual([]);
});

test('the result gate may change a result; where it fails, the result is not shown', async () => {
  const { source, gates } = logged({
    result: async (call, result): Promise<CallResult> => {
      if (call.id === 'b') throw new Error('no filter');
      return result.ok ? { ...result, content: '***' } : result;
    },
  });
  const turns = turnOf(...['a', 'b'].map((id) => ({ name: 'double', input: { n: 1 }, id })));
  const { run, results } = play(turns, [source], { gates });
  await run();
  expect(results().map((part) => part.content)).toEqual([
    '***',
    'double: the call ran, but a gate of its result failed: no filter',
  ]);
});

test('a source whose prepare fails costs its own calls only', async () => {
  const broken = rawSource('broken', [declare('x')], async () => {});
  broken.prepare = async () => {
    throw new Error('no repair');
  };
  const short = rawSource('short', [declare('y')], async () => {});
  short.prepare = async () => [];
  const { source } = logged();
  const turns = turnOf({ name: 'x' }, { name: 'double', input: { n: 1 } }, { name: 'y' });
  const { run, results } = play(turns, [broken, source, short]);
  await run();
  expect(results().map((part) => part.content)).toEqual([
    'x: prepare of broken failed: no repair',
    '2',
    'y: prepare of short returned no arguments',
  ]);
});

test('the input gate changes what is said, or refuses it', async () => {
  const changed = play([{ text: 'Yes.' }], [], { gates: { input: async (text) => ({ input: `${text}!` }) } });
  await changed.run();
  expect(changed.agent.messages[0]).toEqual({ role: 'user', content: 'go!' });

  const refused = play([{ text: 'Yes.' }], [], { gates: { input: async () => ({ refuse: 'not now' }) } });
  await refused.run();
  expect(refused.end()).toEqual({
    type: 'agent_end',
    reason: 'failed',
    error: { kind: 'denied', message: 'not now' },
  });
  expect(refused.agent.messages).toEqual([]);
});

test('the start gate sets system prompt and history, the context gate what one request sees', async () => {
  const requests: { system: string; messages: readonly Message[] }[] = [];
  const { agent } = play([], [], {
    system: 'Be kind.',
    provider: {
      id: 'spy',
      async *stream(request) {
        requests.push({ system: request.system, messages: request.messages });
        yield {
          type: 'done',
          message: { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }] },
          usage: { input: 1, output: 1 },
          stop: 'end',
        };
      },
    },
    gates: {
      start: async ({ system }) => ({ system: `${system} Be brief.`, messages: [{ role: 'user', content: 'before' }] }),
      context: async (messages) => messages.slice(1),
    },
  });
  await agent.run('now');
  expect(requests).toEqual([{ system: 'Be kind. Be brief.', messages: [{ role: 'user', content: 'now' }] }]);
  expect(agent.messages.map((message) => message.role)).toEqual(['user', 'user', 'assistant']);
});

test('a call outside a turn passes the same gates and is not part of the conversation', async () => {
  const { log, source, gates } = logged();
  const { agent } = play([], [source], { gates });
  expect(await agent.call('double', { n: 21 })).toEqual({ ok: true, content: '42' });
  expect(log).toEqual([
    'prepare {"n":21}',
    expect.stringMatching(/^batch call_\w+=/),
    expect.stringMatching(/^call/),
    expect.stringMatching(/^result/),
  ]);
  expect(await agent.call('double', {})).toMatchObject({ ok: false, error: { kind: 'invalid_input' } });
  expect(await agent.call('nothing', {})).toMatchObject({ ok: false, error: { kind: 'unknown_tool' } });
  expect(agent.messages).toEqual([]);
});
