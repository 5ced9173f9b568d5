// The command as a program: arguments, exit statuses, -p, pipes.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSharedTree, Place } from './cli-support.js';

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

const answer = (text: string) => place.script([{ text }]);

describe('arguments', () => {
  test('--version prints the version alone, also beside other flags', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    for (const args of [['--version'], ['-v'], ['--debug', '--version']]) {
      expect(await place.run(args)).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
    }
  });

  test('help names every flag and command, without colours in a pipe', async () => {
    const { status, stdout } = await place.run(['--help'], { env: { FORCE_COLOR: '1' } });
    expect(status).toBe(0);
    for (const word of [
      '--print',
      '--model',
      '--output',
      '--permission',
      '--trust',
      '--debug',
      'panto bootstrap',
      'panto ext list',
    ]) {
      expect(stdout).toContain(word);
    }
    expect(stdout).not.toContain('\x1b');
    expect((await place.run(['ext', 'list', '--help'])).stdout).toContain('Usage: panto ext list [flags]');
    expect((await place.run(['ext', '--help'])).stdout).toContain('panto ext list');
  });

  test.each([
    [['--modle', 'x'], 'unknown flag --modle; did you mean --model?'],
    [['-p'], '-p needs a value: -p PROMPT'],
    [['-p', 'x', '--output', 'xml'], '--output must be one of text, jsonl, not "xml"'],
    [['-p', 'one', 'two'], 'with -p the prompt is one argument; unexpected "two"'],
    [['-p', ' '], 'the prompt is empty: give one to -p, or pipe it into panto -p -'],
    [['--output', 'jsonl'], '--output needs -p PROMPT'],
    [['bootstarp'], 'unknown command "bootstarp"; did you mean "bootstrap"? (as a prompt: panto -- bootstarp)'],
    [['--model', 'a/b', 'bootstrap'], 'the command comes first: panto bootstrap …'],
    [['ext', 'lst'], 'unknown command "ext lst"; did you mean "ext list"?'],
    [['ext'], '"ext" needs one of: list'],
    [['bootstrap', 'now'], 'unexpected argument "now"'],
    [['trust', '--list', '--revoke'], '--list takes no folder and no other flag'],
    [['constructor', '--x'], 'unknown flag --x'],
    [[], 'standard input is not a terminal: use -p PROMPT, or -p - to read the prompt from a pipe'],
  ])('bad usage %j ends with status 2 and one line', async (args, line) => {
    expect(await place.run(args)).toEqual({
      status: 2,
      signal: null,
      stdout: '',
      stderr: `panto: ${line} (panto --help)\n`,
    });
  });

  test('without a model one line names the flag and the key of the config', async () => {
    const { status, stderr } = await place.run(['-p', 'hi']);
    expect([status, stderr]).toEqual([
      1,
      'panto: no model: give --model PROVIDER/NAME, or set model under [agent] in config.toml\n',
    ]);
  });

  test('a model without its key, or without its script, is one line', async () => {
    const key = await place.run(['-p', 'hi', '--model', 'anthropic/some-model']);
    expect(key.status).toBe(1);
    expect(key.stderr).toMatch(/^panto: .*ANTHROPIC_API_KEY.*\n$/);
    const script = await place.run(['-p', 'hi', '--model', 'scripted:none.json']);
    expect(script.status).toBe(1);
    expect(script.stderr).toMatch(/^panto: .*none\.json.*ENOENT.*\n$/);
  });

  test('--debug adds the stack, nothing else does', async () => {
    expect((await place.run(['-p', 'hi', '--debug'])).stderr).toContain('\n    at ');
    expect((await place.run(['-p', 'hi'])).stderr).not.toContain('    at ');
  });
});

describe('-p', () => {
  test('prints the answer alone on stdout; what was said and done on the way goes to stderr', async () => {
    place.write('a.txt', 'one\n');
    const model = place.script([
      { text: 'Looking.', tool_calls: [{ name: 'read', input: { path: 'a.txt' } }] },
      { text: 'It says \x1b[31mone\x1b[0m.' },
    ]);
    const { status, stdout, stderr } = await place.run(['-p', 'what does a.txt say?', '--model', model]);
    expect([status, stdout]).toEqual([0, 'It says one.\n']);
    expect(stderr).toMatch(/^Looking\.\n● read a\.txt {2}\d+ m?s ok\n$/);
  });

  test('takes the model from the config and the relative path of a script from the cwd', async () => {
    place.write('~/.config/panto/config.toml', '[agent]\nmodel = "scripted:turns.json"\n');
    place.write('turns.json', JSON.stringify({ turns: [{ text: 'from the config' }] }));
    expect(await place.run(['-p', 'hi'])).toMatchObject({ status: 0, stdout: 'from the config\n' });
  });

  test('adds a pipe to the prompt; - takes the whole prompt from it', async () => {
    const promptOf = async (args: string[], input: string) => {
      const { stdout } = await place.run([...args, '--output', 'jsonl', '--model', answer('ok')], { input });
      return lines(stdout).find((line) => line.message?.role === 'user')?.message?.content;
    };
    expect(await promptOf(['-p', 'review'], 'the diff\n')).toBe('review\n\nthe diff\n');
    expect(await promptOf(['-p', '-'], 'all of it')).toBe('all of it');
    expect(await promptOf(['-p', '--no-color is a flag?'], '')).toBe('--no-color is a flag?');
  });

  test('refuses an empty pipe for -, and one that is not text', async () => {
    const args = ['-p', '-', '--model', answer('ok')];
    expect(await place.run(args)).toMatchObject({ status: 2, stdout: '' });
    const binary = await place.run(args, { input: Buffer.from([0xff, 0xfe, 0x00]) });
    expect([binary.status, binary.stderr]).toEqual([
      1,
      'panto: standard input is not UTF-8 text; save it as a file and name that in the prompt\n',
    ]);
  });

  test('works with stdin closed', () => {
    const { status, stdout } = place.shell(`panto -p hi --model ${answer('ok')} <&-`);
    expect([status, stdout]).toEqual([0, 'ok\n']);
  });

  test('refuses what changes something unless the mode allows it, and says how', async () => {
    const call = () => [
      { tool_calls: [{ name: 'write', input: { path: 'new.txt', content: 'x' } }] },
      { text: 'done' },
    ];
    for (const mode of [[], ['--permission', 'ask'], ['--permission', 'read-only']]) {
      const refused = await place.run(['-p', 'hi', '--model', place.script(call()), ...mode]);
      expect(refused.stderr).toContain('--permission');
      expect(readdirSync(place.project)).toEqual([]);
    }
    await place.run(['-p', 'hi', '--model', place.script(call()), '--permission', 'auto']);
    expect(readFileSync(join(place.project, 'new.txt'), 'utf8')).toBe('x');
  });

  test('commands do not see the keys of the configured providers', async () => {
    place.write(
      '~/.config/panto/config.toml',
      '[providers.mine]\nbase_url = "http://127.0.0.1:9"\napi_key_env = "MY_SECRET"\n',
    );
    const model = place.script([{ tool_calls: [{ name: 'bash', input: { command: 'env >seen' } }] }, { text: 'done' }]);
    const env = { MY_SECRET: 'hush', MY_OTHER: 'seen', ANTHROPIC_API_KEY: 'hush' };
    await place.run(['-p', 'hi', '--model', model, '--permission', 'auto'], { env });
    const seen = readFileSync(join(place.project, 'seen'), 'utf8');
    expect(seen).toContain('MY_OTHER=seen');
    expect(seen).not.toContain('hush');
  });

  test('a run that fails ends with status 1 and its cause, with what was said until then', async () => {
    const model = place.script([{ text: 'I begin.', tool_calls: [{ name: 'ls', input: {} }] }]);
    const { status, stdout, stderr } = await place.run(['-p', 'hi', '--model', model]);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/I begin\.[\s\S]*\nerror: .*the script has no answer to request 2/);
  });

  test('an answer that the model had to cut says so', async () => {
    const { status, stdout, stderr } = await place.run([
      '-p',
      'hi',
      '--model',
      place.script([{ text: 'The list: one,', stop: 'length' }]),
    ]);
    expect([status, stdout]).toEqual([0, 'The list: one,\n']);
    expect(stderr).toContain('cut off');
  });

  test('a large answer arrives whole through a slow pipe', () => {
    const size = 3_000_000;
    const { stdout } = place.shell(`panto -p hi --model ${answer('x'.repeat(size))} | (sleep 1; cat) | wc -c`);
    expect(Number(stdout)).toBe(size + 1);
  });

  test('a reader that goes away ends it quietly with 141', () => {
    const large = answer('x\n'.repeat(1_000_000));
    const { stdout, stderr } = place.shell(`panto -p hi --model ${large} | head -1; echo "\${PIPESTATUS[*]}"`);
    expect([stdout, stderr]).toEqual(['x\n141 0\n', '']);
  });

  test('a full disk behind stdout is a failure with its cause', () => {
    const { status, stderr } = place.shell(`panto -p hi --model ${answer('ok')} >/dev/full`);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^panto: cannot write to standard output: .*ENOSPC.*\n$/),
    ]);
  });

  test('works with stderr closed', () => {
    const { status, stdout } = place.shell(`panto -p hi --model ${answer('ok')} 2>&-`);
    expect([status, stdout]).toEqual([0, 'ok\n']);
  });
});

describe('--output jsonl', () => {
  test('every line is an event, with results flat and times since the session began', async () => {
    place.write('a.txt', 'one\n');
    const model = place.script([
      {
        text: 'Both.',
        tool_calls: [
          { name: 'read', input: { path: 'a.txt' } },
          { name: 'nosuch', input: {} },
        ],
      },
      { text: 'Done.' },
    ]);
    const { status, stdout } = await place.run(['-p', 'hi', '--output', 'jsonl', '--model', model]);
    expect(status).toBe(0);
    const events = lines(stdout);
    expect(events[0]).toMatchObject({ type: 'session_start', model, cwd: place.project });
    expect(events.filter(({ type }) => !['delta', 'message'].includes(type)).map(({ type }) => type)).toEqual([
      'session_start',
      'turn_start',
      'tool_call',
      'tool_call',
      'tool_result',
      'tool_result',
      'turn_end',
      'turn_start',
      'turn_end',
      'agent_end',
    ]);
    const results = events.filter(({ type }) => type === 'tool_result');
    const read = results.find(({ name }) => name === 'read');
    expect(read).toMatchObject({ id: 'call_1_1', is_error: false, content: expect.stringContaining('one') });
    expect(read?.details).toBeDefined();
    const unknown = results.find(({ name }) => name === 'nosuch');
    expect(unknown).toMatchObject({ id: 'call_1_2', is_error: true, error: { kind: 'unknown_tool' } });
    for (const { started_ms, ended_ms } of results) {
      expect(started_ms).toBeGreaterThan(0);
      expect(ended_ms).toBeGreaterThanOrEqual(started_ms as number);
      expect(ended_ms).toBeLessThan(60_000);
    }
    const deltas = events.filter(({ event }) => event?.type === 'text').map(({ event }) => event?.delta);
    expect(deltas.join('')).toBe('Both.Done.');
    expect(events.at(-1)).toEqual({ type: 'agent_end', reason: 'done' });
  });

  test('a large stream arrives whole, line by line, through a slow pipe', () => {
    const text = 'line\u2028\n"quoted" \x1b[31m\n'.repeat(100_000);
    const { stdout } = place.shell(`panto -p hi --output jsonl --model ${answer(text)} | (sleep 1; cat)`);
    const deltas = lines(stdout).filter(({ event }) => event?.type === 'text');
    expect(deltas.map(({ event }) => event?.delta).join('')).toBe(text);
    expect(lines(stdout).at(-1)).toMatchObject({ type: 'agent_end' });
  });

  test('a reader that takes one line only ends it quietly', () => {
    const large = answer('x'.repeat(2_000_000));
    const { stdout, stderr } = place.shell(
      `panto -p hi --output jsonl --model ${large} | head -1 | cut -c1-23; echo "\${PIPESTATUS[*]}"`,
    );
    expect(stdout).toBe('{"type":"session_start"\n141 0 0\n');
    expect(stderr).toBe('');
  });
});

describe('config and folders', () => {
  test('every mistake in the config is a line with file, line and column', async () => {
    place.write('~/.config/panto/config.toml', '[agent]\nmodl = "x"\nworkers = "four"\n');
    const { status, stderr } = await place.run(['-p', 'hi', '--model', answer('ok')]);
    expect(status).toBe(1);
    expect(
      stderr.split('\n').filter((line) => /^panto: ~\/\.config\/panto\/config\.toml:[23]:\d+: /.test(line)),
    ).toHaveLength(2);
    expect(stderr.split('\n')).toHaveLength(3);
  });

  test.each([
    ['empty', { XDG_DATA_HOME: '', XDG_CONFIG_HOME: '', XDG_STATE_HOME: '' }],
    ['relative', { XDG_DATA_HOME: 'rel', XDG_CONFIG_HOME: 'rel', XDG_STATE_HOME: './rel' }],
  ])('%s XDG variables count as not set, and the cwd stays untouched', async (_what, env) => {
    place.write('~/.config/panto/config.toml', `[agent]\nmodel = "${answer('from the default place')}"\n`);
    expect(await place.run(['--version'], { env })).toMatchObject({ status: 0 });
    expect(await place.run(['-p', 'hi'], { env })).toMatchObject({ status: 0, stdout: 'from the default place\n' });
    expect(readdirSync(place.project)).toEqual([]);
  });

  test.each([
    ['not set', undefined],
    ['relative', 'rel'],
  ])('with HOME %s --version works, and a run is one clear line', async (_what, home) => {
    const env = { HOME: home };
    expect(await place.run(['--version'], { env })).toMatchObject({ status: 0 });
    const { status, stderr } = await place.run(['-p', 'hi', '--model', answer('ok')], { env });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^panto: HOME is not set to an absolute path.*\n$/)]);
    expect(readdirSync(place.project)).toEqual([]);
  });

  test('a tree that cannot be built is one warning; the agent answers', async () => {
    const bin = join(place.root, 'bin');
    mkdirSync(bin);
    const { status, stdout, stderr } = await place.run(['-p', 'hi', '--model', answer('still here')], {
      env: { PATH: bin, PANTO_HOME: join(place.root, 'empty') },
    });
    expect([status, stdout]).toEqual([0, 'still here\n']);
    expect(stderr).toMatch(/^panto: warning: no Lua extensions: .*compiler.*\n$/);
  });

  test('bootstrap builds the tree with progress on stderr, then has nothing to do; a failure is status 1', async () => {
    const env = { PANTO_HOME: join(place.root, 'empty') };
    const first = await place.run(['bootstrap'], { env });
    expect([first.status, first.stderr]).toEqual([0, expect.stringMatching(/^panto: compiling luv .*\n$/)]);
    expect(first.stdout).toMatch(/^ready: .*\n$/);
    const second = await place.run(['bootstrap'], { env });
    expect([second.status, second.stdout, second.stderr]).toEqual([0, expect.stringMatching(/^up to date: /), '']);
    const failed = await place.run(['bootstrap', '--force'], { env: { ...env, PATH: join(place.root, 'none') } });
    expect([failed.status, failed.stdout, failed.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(/^panto: .*compiler.*\n$/),
    ]);
  });
});

interface Line {
  type: string;
  [key: string]: unknown;
  name?: string;
  message?: { role: string; content: unknown };
  event?: { type: string; delta?: string };
}
/** Every line parsed; fails where one is not JSON. */
function lines(text: string): Line[] {
  expect(text.endsWith('\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}
