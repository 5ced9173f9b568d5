// Signals and the end of the process: the right status, no orphans, no hang, and nothing lost that was already there.
import { buildSharedTree, finished, Place } from './cli-support.js';

let place: Place;
let removeTree: () => void;
beforeAll(async () => {
  removeTree = await buildSharedTree();
});
afterAll(() => removeTree());
beforeEach(() => {
  place = new Place();
});
afterEach(() => place.dispose());

/** A run whose bash call has written its process id into `pid` and sleeps. */
async function startSleeper(...args: string[]) {
  const command = 'echo $$ >pid; exec sleep 300';
  const model = place.script([
    { text: 'I wait.', tool_calls: [{ name: 'bash', input: { command } }] },
    { text: 'never' },
  ]);
  const child = place.start(['-p', 'hi', '--permission', 'auto', '--model', model, ...args]);
  child.stdin?.end();
  const end = finished(child);
  return { child, end, sleeper: Number(await place.appears('pid')) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s during a command ends with %i, and the command ends too', async (signal, status) => {
  const { child, end, sleeper } = await startSleeper();
  expect(isAlive(sleeper)).toBe(true);
  child.kill(signal);
  const result = await end;
  expect([result.status, result.signal]).toEqual([status, null]);
  expect(result.stdout).toBe('');
  expect(result.stderr).toContain('I wait.');
  expect(isAlive(sleeper)).toBe(false);
});

test('an interrupted jsonl stream is complete: a result for the call, and the end', async () => {
  const { child, end } = await startSleeper('--output', 'jsonl');
  child.kill('SIGTERM');
  const { status, stdout } = await end;
  expect(status).toBe(143);
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; id?: string; reason?: string });
  expect(events.filter(({ type }) => type === 'tool_result')).toMatchObject([{ id: 'call_1_1', is_error: true }]);
  expect(events.at(-1)).toMatchObject({ type: 'agent_end', reason: 'aborted' });
});

test('a second signal does not wait for anything', async () => {
  const { child, end, sleeper } = await startSleeper();
  child.kill('SIGINT');
  child.kill('SIGTERM');
  const { status } = await end;
  expect([130, 143]).toContain(status);
  // Whoever watches over the command ends it a moment later.
  for (let tries = 0; isAlive(sleeper) && tries < 200; tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isAlive(sleeper)).toBe(false);
});

test('a signal while a reader does not read still ends the process', async () => {
  const model = place.script([{ text: 'x'.repeat(4_000_000) }]);
  const child = place.start(['-p', 'hi', '--output', 'jsonl', '--model', model]);
  child.stdin?.end();
  // Nobody reads: wait for the first byte only, the pipe is full then.
  await new Promise((resolve) => child.stdout?.once('readable', resolve));
  child.kill('SIGTERM');
  const status = await new Promise((resolve) => child.once('exit', (code, signal) => resolve([code, signal])));
  expect(status).toEqual([143, null]);
});

test('a signal during the build of the tree ends the build', async () => {
  const { bin, release } = place.slowCompiler();
  const child = place.start(['bootstrap'], { env: { PANTO_HOME: `${place.root}/empty`, PATH: bin } });
  const end = finished(child);
  await place.appears('compiling');
  child.kill('SIGINT');
  expect((await end).status).toBe(130);
  release();
});
