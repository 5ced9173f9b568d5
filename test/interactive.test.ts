// The interactive loop at a real terminal.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSharedTree, Place, type TestTerminal } from './cli-support.js';

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

const bash = (command: string) => ({ name: 'bash', input: { command } });
type Turns = Parameters<Place['script']>[0];

/** A session that waits for its first prompt. */
async function open(turns: Turns, args: string[] = [], env: Record<string, string> = {}): Promise<TestTerminal> {
  const terminal = place.terminal(['--model', place.script(turns), ...args], env);
  await terminal.see('/help for help');
  await terminal.see('> ');
  return terminal;
}
/** What the model was told, in order: the prompts of a session run with a script that ends. */
const sleeper = [{ text: 'Waiting.', tool_calls: [bash('echo $$ >pid; exec sleep 300')] }, { text: 'Next answer.' }];

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a prompt is answered, /help lists the commands, /quit leaves with 0', async () => {
  const terminal = await open([{ text: 'Hello there.' }]);
  terminal.type('hi\r');
  await terminal.see('Hello there.');
  await terminal.see('> ');
  terminal.type('/help\r');
  await terminal.see('/quit');
  await terminal.see('> ');
  terminal.type('/nosuch\r');
  await terminal.see('no command /nosuch; /help lists them');
  terminal.type('/quit\r');
  expect(await terminal.exited).toBe(0);
});

test('the words of the command line are the first prompt; Ctrl-D leaves with 0', async () => {
  const terminal = place.terminal(['--model', place.script([{ text: 'First answer.' }]), 'fix', 'the bug']);
  await terminal.see('> fix the bug');
  await terminal.see('First answer.');
  await terminal.see('> ');
  terminal.type('\x04');
  expect(await terminal.exited).toBe(0);
});

test('a call that changes something is asked for: yes runs it', async () => {
  const terminal = await open([{ tool_calls: [bash('echo yes >made')] }, { text: 'Made.' }]);
  terminal.type('go\r');
  await terminal.see('● bash echo yes >made');
  await terminal.see('bash wants to run:\n  command: echo yes >made\n');
  await terminal.see('Allow?');
  expect(existsSync(join(place.project, 'made'))).toBe(false);
  terminal.type('y\r');
  await terminal.see(/bash echo yes >made {2}\d.* ok/);
  await terminal.see('Made.');
  expect(readFileSync(join(place.project, 'made'), 'utf8')).toBe('yes\n');
});

test.each([
  ['n', 'n\r'],
  ['nothing typed', '\r'],
  ['Ctrl-C', '\x03'],
])('a question that is answered with %s refuses the call, and the turn goes on', async (_what, keys) => {
  const terminal = await open([{ tool_calls: [bash('echo yes >made')] }, { text: 'I was refused.' }]);
  terminal.type('go\r');
  await terminal.see('Allow?');
  terminal.type(keys);
  await terminal.see('error: the person refused this call of bash');
  await terminal.see('I was refused.');
  expect(existsSync(join(place.project, 'made'))).toBe(false);
});

test('questions of one turn come one after another; always answers the later ones', async () => {
  const calls = [bash('echo 1 >one'), bash('echo 2 >two'), bash('echo 3 >three')];
  const terminal = await open([{ tool_calls: calls }, { text: 'All done.' }]);
  terminal.type('go\r');
  await terminal.see('command: echo 1 >one');
  await terminal.see('Allow?');
  terminal.type('n\r');
  await terminal.see('command: echo 2 >two');
  await terminal.see('Allow?');
  terminal.type('a\r');
  await terminal.see('All done.');
  expect(['one', 'two', 'three'].map((name) => existsSync(join(place.project, name)))).toEqual([false, true, true]);
  expect(terminal.text.split('Allow?')).toHaveLength(3);
});

test('what a call wants to run cannot fake the screen', async () => {
  const terminal = await open([{ tool_calls: [bash('rm -rf x\x1b[2K\x1b[1A\r\necho safe\u202e')] }, { text: 'Ok.' }]);
  terminal.type('go\r');
  await terminal.see('command: rm -rf x ⏎ echo safe\\u{202e}');
  terminal.type('n\r');
  await terminal.see('Ok.');
  expect(terminal.raw).not.toContain('\x1b[2K');
});

test('Ctrl-C cancels the turn and ends the command; the session goes on', async () => {
  const terminal = await open(sleeper, ['--permission', 'auto']);
  terminal.type('go\r');
  const pid = Number(await place.appears('pid'));
  expect(isAlive(pid)).toBe(true);
  terminal.type('\x03');
  await terminal.see('cancelled');
  await terminal.see('> ');
  expect(isAlive(pid)).toBe(false);
  terminal.type('go on\r');
  await terminal.see('Next answer.');
});

test('Ctrl-C at an empty prompt leaves with 130 the second time, and only then', async () => {
  const terminal = await open([{ text: 'Still here.' }]);
  terminal.type('\x03');
  await terminal.see('Ctrl-C again or Ctrl-D leaves');
  terminal.type('hi\r');
  await terminal.see('Still here.');
  await terminal.see('> ');
  terminal.type('\x03');
  await terminal.see('Ctrl-C again or Ctrl-D leaves');
  terminal.type('\x03');
  expect(await terminal.exited).toBe(130);
});

test('Ctrl-C with something typed empties the line only', async () => {
  const terminal = await open([{ text: 'Second thought.' }]);
  terminal.type('do not send this');
  await terminal.see('do not send this');
  terminal.type('\x03');
  terminal.type('hi\r');
  await terminal.see('Second thought.');
  expect(terminal.text).not.toContain('again or Ctrl-D');
});

test('leaving while a command runs ends it', async () => {
  const terminal = await open(sleeper, ['--permission', 'auto']);
  terminal.type('go\r');
  const pid = Number(await place.appears('pid'));
  terminal.type('/quit\r');
  expect(await terminal.exited).toBe(0);
  expect(isAlive(pid)).toBe(false);
});

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGINT', 130],
] as const)('%s while a command runs gives the terminal back and ends with %i', async (signal, status) => {
  const terminal = await open(sleeper, ['--permission', 'auto']);
  terminal.type('go\r');
  const pid = Number(await place.appears('pid'));
  terminal.kill(signal);
  expect(await terminal.exited).toBe(status);
  expect(isAlive(pid)).toBe(false);
  expect(terminal.raw).toMatch(/\x1b\[\?2004l/);
});

test('a line that is typed while a turn runs is told to the agent before its next request', async () => {
  const turns = [
    { text: 'Working.', tool_calls: [bash('echo started >pid; while [ ! -e release ]; do sleep 0.05; done')] },
    { text: 'First part.' },
  ];
  const terminal = await open(turns, ['--permission', 'auto']);
  terminal.type('go\r');
  await place.appears('pid');
  terminal.type('also look at b.txt');
  await terminal.see('> also look at b.txt');
  terminal.type('\r');
  place.write('release', '');
  await terminal.see(/bash echo started.* ok/);
  await terminal.see('First part.');
  // One run with two requests: as a prompt of its own the line would have asked for a third answer.
  await terminal.see('> ');
  expect(terminal.text).not.toContain('the script has no answer');
});

test('text that comes while a line is being typed waits for it and is not lost', async () => {
  const turns = [
    { text: 'Before.', tool_calls: [bash('echo started >pid; while [ ! -e release ]; do sleep 0.05; done')] },
    { text: 'After the call.' },
  ];
  const terminal = await open(turns, ['--permission', 'auto']);
  terminal.type('go\r');
  await place.appears('pid');
  terminal.type('half a li');
  await terminal.see('> half a li');
  place.write('release', '');
  // The echo of a key comes after the release; the call's end must not come between.
  await new Promise((resolve) => setTimeout(resolve, 500));
  terminal.type('ne');
  await terminal.see('ne');
  expect(terminal.text).not.toContain('After the call.');
  terminal.type('\x15');
  await terminal.see('After the call.');
});

test('several pasted lines are one prompt', async () => {
  const terminal = await open([{ text: 'One answer.' }]);
  terminal.type('look: \x1b[200~first\rsecond\rthird\x1b[201~');
  await terminal.see('look: [pasted #1: 3 lines]');
  terminal.type('\r');
  await terminal.see('One answer.');
  await terminal.see('> ');
  expect(terminal.text).not.toContain('the script has no answer');
});

test('a failed run is one line, and the session goes on', async () => {
  const terminal = await open([{ text: 'Only one.' }]);
  terminal.type('one\r');
  await terminal.see('Only one.');
  await terminal.see('> ');
  terminal.type('two\r');
  await terminal.see('error: the script has no answer to request 2');
  await terminal.see('> ');
});

test('a command of a Lua extension answers, fails with its place, and is in /help', async () => {
  place.write(
    '~/.config/panto/extensions/demo.lua',
    `return { name = "demo", activate = function(ext)
  ext.register_command { name = "greet", description = "says hello", handler = function(args) return "hello " .. args end }
  ext.register_command { name = "fail", description = "fails", handler = function() error("no luck") end }
end }`,
  );
  const terminal = await open([]);
  terminal.type('/greet you\r');
  await terminal.see('hello you\n');
  await terminal.see('> ');
  terminal.type('/fail\r');
  await terminal.see(/error: .*demo\.lua:3: no luck/);
  terminal.type('/help\r');
  await terminal.see('/greet  says hello (demo)');
});

describe('colours', () => {
  const turns = [{ text: 'Plain.', tool_calls: [bash('true')] }, { text: 'Done.' }];
  test('are used at a terminal', async () => {
    const terminal = await open(turns, ['--permission', 'auto']);
    terminal.type('go\r');
    await terminal.see('Done.');
    expect(terminal.raw).toMatch(/\x1b\[\d+m● bash/);
  });

  test('are not used with NO_COLOR', async () => {
    const terminal = await open(turns, ['--permission', 'auto'], { NO_COLOR: '1' });
    terminal.type('go\r');
    await terminal.see('Done.');
    expect(terminal.raw).not.toMatch(/\x1b\[[\d;]*m/);
  });

  test('a dumb terminal gets no control sequence at all', async () => {
    const terminal = await open(turns, [], { TERM: 'dumb' });
    terminal.type('go\r');
    await terminal.see('Allow?');
    terminal.type('y\r');
    await terminal.see(/true {2}\d.* ok/);
    await terminal.see('Done.');
    await terminal.see('> ');
    terminal.type('\x04');
    expect(await terminal.exited).toBe(0);
    expect(terminal.raw).not.toContain('\x1b');
  });
});

describe('an untrusted project', () => {
  beforeEach(() => {
    place.write(
      '.panto/tools/hello.mjs',
      `export const tool = { name: 'hello', description: 'x', readOnly: true, inputSchema: { type: 'object' } };
       export const run = async () => ({ content: 'x', display: 'shown by the project' });`,
    );
  });
  const turns = [{ tool_calls: [{ name: 'hello', input: {} }] }, { text: 'Done.' }];
  const start = () => place.terminal(['--model', place.script(turns)]);

  test('is asked about before anything of it is used; yes is remembered', async () => {
    const terminal = start();
    await terminal.see('brings extensions or settings of its own:\n  .panto/tools: 1 file\n');
    await terminal.see('Trust this project? [y/N]');
    terminal.type('y\r');
    await terminal.see('> ');
    terminal.type('go\r');
    await terminal.see('shown by the project');
    await terminal.see('Done.');
    terminal.type('/quit\r');
    expect(await terminal.exited).toBe(0);
    const again = start();
    await again.see('> ');
    expect(again.text).not.toContain('Trust this project?');
  });

  test.each([
    ['n', 'n\r'],
    ['Ctrl-C', '\x03'],
  ])('is not used after %s', async (_what, keys) => {
    const terminal = start();
    await terminal.see('Trust this project? [y/N]');
    terminal.type(keys);
    await terminal.see('not evaluated: .panto/tools: 1 file (not trusted;');
    await terminal.see('> ');
    terminal.type('go\r');
    await terminal.see('there is no tool of this name');
    await terminal.see('Done.');
  });
});

test('a tree that has to be built does not hold up the first prompt', async () => {
  const { bin, release } = place.slowCompiler();
  const terminal = await open([{ text: 'Answered without Lua.' }], [], {
    PATH: bin,
    PANTO_HOME: join(place.root, 'empty'),
  });
  await place.appears('compiling');
  terminal.type('hi\r');
  await terminal.see('Answered without Lua.');
  release();
  await terminal.see('extensions are loaded');
  terminal.type('/quit\r');
  expect(await terminal.exited).toBe(0);
});

test('leaving while the tree is built does not wait for it', async () => {
  const { bin } = place.slowCompiler();
  const terminal = await open([], [], { PATH: bin, PANTO_HOME: join(place.root, 'empty') });
  await place.appears('compiling');
  terminal.type('\x04');
  expect(await terminal.exited).toBe(0);
});

test('bad config, or no model, ends the start with status 1 and one line', async () => {
  const terminal = place.terminal([]);
  expect(await terminal.exited).toBe(1);
  expect(terminal.text.trim()).toBe(
    'panto: no model: give --model PROVIDER/NAME, or set model under [agent] in config.toml',
  );
});
