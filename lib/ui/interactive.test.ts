import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEvent } from '../core/types.js';
import { type InteractiveHost, InteractiveLoop } from './interactive.js';
import { createStyle } from './style.js';

/** A loop at a terminal that is two streams; tests with a real one are in test/. */
function openLoop(host: Partial<InteractiveHost> & { run?: InteractiveHost['agent']['run']; isLate?: true } = {}) {
  const input = Object.assign(new PassThrough(), { isTTY: true, isRaw: false, setRawMode: () => input });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  let printed = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const prompts: string[] = [];
  const told: string[] = [];
  let listener: (event: AgentEvent) => void = () => {};
  const loop = new InteractiveLoop(
    input as unknown as NodeJS.ReadStream,
    output as unknown as NodeJS.WriteStream,
    createStyle(false),
    true,
  );
  const start = () =>
    loop.run({
      agent: {
        async run(prompt, options) {
          prompts.push(String(prompt));
          return host.run?.(prompt, options);
        },
        enqueue: (text) => told.push(String(text)),
        on(added) {
          listener = added;
          return () => {};
        },
      },
      commands: host.commands ?? (() => []),
      runCommand: host.runCommand ?? (async () => undefined),
    });
  return {
    loop,
    start,
    ended: host.isLate ? undefined : start(),
    prompts,
    told,
    emit: (event: AgentEvent) => listener(event),
    printed: () => printed,
    /** Types, and lets everything that follows from it happen. */
    async type(keys: string) {
      input.write(keys);
      await sleep(20);
    },
  };
}
const command = (name: string) => ({ name, description: `does ${name}`, extension: 'demo' });

test('a command of an extension gets its arguments, and its text is shown clean', async () => {
  const calls: unknown[] = [];
  const { type, printed, prompts } = openLoop({
    commands: () => [command('greet')],
    async runCommand(name, args) {
      calls.push([name, args]);
      return 'hello \x1b[2Jworld\n';
    },
  });
  await type('/greet you  two\r');
  expect(calls).toEqual([['greet', 'you  two']]);
  expect(printed()).toContain('\nhello world\n');
  expect(prompts).toEqual([]);
});

test('/help lists the commands of extensions, and whose they are', async () => {
  const { type, printed } = openLoop({ commands: () => [command('greet')] });
  await type('/help\r');
  expect(printed()).toContain('/greet  does greet (demo)\n');
});

test('a command that fails is one line', async () => {
  const { type, printed } = openLoop({
    commands: () => [command('greet')],
    runCommand: () => Promise.reject(new Error('greet.lua:3: no\nreason')),
  });
  await type('/greet\r');
  expect(printed()).toContain('\nerror: greet.lua:3: no ⏎ reason\n');
});

test('a text that begins with a path, or with a space, is a prompt', async () => {
  const { type, prompts } = openLoop();
  await type('/usr/bin/env is what?\r');
  await type(' /help me\r');
  expect(prompts).toEqual(['/usr/bin/env is what?', '/help me']);
});

test('a prompt that is sent while a command runs follows it', async () => {
  let finish: (text: string) => void = () => {};
  const { type, prompts, told } = openLoop({
    commands: () => [command('slow')],
    runCommand: () => new Promise((resolve) => (finish = resolve)),
  });
  await type('/slow\r');
  await type('one\r');
  await type('two\r');
  expect(prompts).toEqual([]);
  finish('');
  await sleep(20);
  expect([prompts, told]).toEqual([['one', 'two'], []]);
});

test('a command works while a turn runs; a prompt is told to the agent', async () => {
  const { type, prompts, told, printed } = openLoop({
    run: () => new Promise(() => {}),
    commands: () => [command('greet')],
    runCommand: async () => 'hello',
  });
  await type('go\r');
  await type('/greet\r');
  await type('and more\r');
  expect([prompts, told]).toEqual([['go'], ['and more']]);
  expect(printed()).toContain('hello\n');
});

test('Ctrl-C cancels what runs; a second one while it ends leaves with 130', async () => {
  let signal: AbortSignal | undefined;
  const { type, loop } = openLoop({
    run: (_prompt, options) => {
      signal = options.signal;
      return new Promise(() => {});
    },
  });
  await type('go\r');
  expect(signal?.aborted).toBe(false);
  await type('\x03');
  expect(signal?.aborted).toBe(true);
  expect(await Promise.race([loop.left, sleep(20, 'still here')])).toBe('still here');
  await type('\x03');
  expect(await loop.left).toBe(130);
});

test('leaving cancels what runs and waits for its end', async () => {
  const stages: string[] = [];
  const { type, ended } = openLoop({
    run: (_prompt, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', async () => {
          stages.push('aborted');
          await sleep(30);
          stages.push('ended');
          resolve(undefined);
        }),
      ),
  });
  await type('go\r');
  await type('/quit\r');
  await ended;
  expect(stages).toEqual(['aborted', 'ended']);
});

test('questions queue; each gets its own answer; text that comes meanwhile waits', async () => {
  const { type, loop, printed } = openLoop();
  const first = loop.ask('First question', 'one? ');
  const second = loop.ask('Second question', 'two? ');
  loop.notice('a notice');
  await type('yes \r');
  expect(await first).toBe('yes');
  expect(printed()).not.toContain('a notice');
  await type('\x03');
  expect(await second).toBeUndefined();
  await sleep(20);
  expect(printed().indexOf('Second question')).toBeGreaterThan(printed().indexOf('one? yes'));
  expect(printed()).toContain('a notice\n');
});

test('a question that is no longer needed goes away; the next one stands', async () => {
  const { type, loop } = openLoop();
  const gone = new AbortController();
  const first = loop.ask('First question', 'one? ', gone.signal);
  const second = loop.ask('Second question', 'two? ');
  gone.abort();
  expect(await first).toBeUndefined();
  await type('y\r');
  expect(await second).toBe('y');
});

test('what was being typed when a question came is there again after it, and did not answer it', async () => {
  const { type, loop, prompts } = openLoop();
  await type('half a pro');
  const answer = loop.ask('Question', 'sure? ');
  await sleep(20);
  await type('n\r');
  expect(await answer).toBe('n');
  await type('mpt\r');
  expect(prompts).toEqual(['half a prompt']);
});

test('lines that are sent before there is an agent are not lost', async () => {
  const { type, start, prompts, told } = openLoop({ isLate: true, run: () => new Promise(() => {}) });
  await type('one\r');
  await type('two\r');
  expect(prompts).toEqual([]);
  void start();
  await sleep(20);
  expect([prompts, told]).toEqual([['one'], ['two']]);
});

test('/quit works before there is an agent', async () => {
  const { type, loop } = openLoop({ isLate: true });
  await type('/quit\r');
  expect(await loop.left).toBe(0);
});
