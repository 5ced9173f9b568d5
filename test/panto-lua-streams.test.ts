// `panto lua` between pipes and under signals. Node makes pipes non-blocking and ignores SIGPIPE; the interpreter must not notice.
import { setTimeout as sleep } from 'node:timers/promises';
import { finished } from './cli-support.js';
import { type Interpreter, interpreters, LuaPlace, printed } from './panto-lua-support.js';

let place: LuaPlace;
beforeAll(() => {
  place = new LuaPlace();
});
afterAll(() => place.dispose());

test('a script that prints without end is ended when nobody reads', async () => {
  const { stdout } = await place.shellBoth(`lua -e 'while true do print(1) end' | head -n 1; echo "\${PIPESTATUS[@]}"`);
  expect(stdout).toBe('1\n141 0\n');
});

test('50 MB go through a slow pipe whole, in one write and in many', async () => {
  const writes = [`io.write(("x"):rep(50000000))`, `local s = ("y"):rep(49999) for i = 1, 1000 do print(s) end`];
  for (const chunk of writes) {
    const { stdout } = await place.shell(
      'panto',
      `lua -e '${chunk}' | (sleep 0.5; head -c 1000000; sleep 0.5; cat) | wc -c`,
    );
    expect(stdout.trim()).toBe('50000000');
  }
});

test('50 MB are read from a pipe', async () => {
  const line = `head -c 50000000 /dev/zero | lua -e 'print(#io.read("a"), io.read("a"), io.read(1))'`;
  expect((await place.shellBoth(line)).stdout).toBe('50000000\t\tnil\n');
});

test('a read waits for a writer that takes its time', async () => {
  const child = place.start('panto', [
    '-e',
    'for line in io.lines() do print("got " .. line) io.flush() end print "end"',
  ]);
  const done = finished(child);
  for (const word of ['one', 'two']) {
    const seen = printed(child, `got ${word}\n`);
    child.stdin.write(`${word}\n`);
    await seen;
    await sleep(100);
  }
  child.stdin.end('three');
  expect(await done).toEqual({ status: 0, signal: null, stdout: 'got one\ngot two\ngot three\nend\n', stderr: '' });
});

/** Runs a chunk and sends each signal after the line that it waits for. */
async function signalled(interpreter: Interpreter, chunk: string, signals: readonly [string, NodeJS.Signals][]) {
  const child = place.start(interpreter, ['-e', `io.stdout:setvbuf "line" ${chunk}`]);
  const done = finished(child);
  for (const [line, signal] of signals) {
    await printed(child, line);
    // What follows the print has to run, not the print.
    await sleep(200);
    child.kill(signal);
  }
  return await done;
}

const loop = 'while true do end';
test.each<[string, string, readonly [string, NodeJS.Signals][], object]>([
  ['Ctrl-C interrupts a loop', `print "go" ${loop}`, [['go', 'SIGINT']], { status: 1, signal: null }],
  [
    'the error of Ctrl-C can be caught, and close handlers run',
    `do local c <close> = setmetatable({}, { __close = function() print "closed" end })
     print "go" print(pcall(function() ${loop} end)) end`,
    [['go', 'SIGINT']],
    { status: 0, stdout: 'go\nfalse\tinterrupted!\nclosed\n' },
  ],
  [
    'the second Ctrl-C ends a script that caught the first',
    `print "go" pcall(function() ${loop} end) print "again" ${loop}`,
    [
      ['go', 'SIGINT'],
      ['again', 'SIGINT'],
    ],
    { status: null, signal: 'SIGINT' },
  ],
  ['SIGTERM ends a loop', `print "go" ${loop}`, [['go', 'SIGTERM']], { status: null, signal: 'SIGTERM' }],
  ['SIGHUP ends a read', 'print "go" io.read()', [['go', 'SIGHUP']], { status: null, signal: 'SIGHUP' }],
])('%s', async (_name, chunk, signals, expected) => {
  const [ours, stock] = await Promise.all(interpreters.map((interpreter) => signalled(interpreter, chunk, signals)));
  expect(ours).toEqual(stock);
  expect(ours).toMatchObject(expected);
});

test('the message of Ctrl-C is "interrupted!" with a traceback', async () => {
  const { stderr } = await signalled('panto', `print "go" ${loop}`, [['go', 'SIGINT']]);
  expect(stderr).toMatch(/^lua: interrupted!\nstack traceback:\n/);
});
