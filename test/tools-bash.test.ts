// The bash tool, run as a worker runs it. Times here only tell a hang from an end.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setEnvironmentData } from 'node:worker_threads';
import { distUrl } from '../lib/core/package-root.js';
import { run } from '../lib/tools/bash.js';
import { hideFromCommands } from '../lib/tools/index.js';
import { eventually, failure, invoke, markProcesses, start, temporaryFolder, text, textOf } from './tools-support.js';

const cwd = temporaryFolder();
const bash = (command: string, timeout?: number) =>
  text(run, timeout === undefined ? { command } : { command, timeout }, cwd);
const details = async (command: string) => (await invoke(run, { command }, cwd)).details as Record<string, unknown>;

/** Runs and tells how long it took, in ms. */
async function timed(command: string): Promise<{ output: string; ms: number }> {
  const before = performance.now();
  const output = await bash(command);
  return { output, ms: performance.now() - before };
}

function killMarked(mark: { left(): string[] }): void {
  for (const line of mark.left()) {
    try {
      process.kill(Number(line.split(' ')[0]), 'SIGKILL');
    } catch {
      // It has just ended.
    }
  }
}

describe('result', () => {
  test('standard output and standard error come in the order in which they were written', async () => {
    expect(await bash('for i in 1 2 3; do echo out$i; echo err$i >&2; done')).toBe(
      'out1\nerr1\nout2\nerr2\nout3\nerr3',
    );
  });

  test('a command runs in the folder of the call', async () => {
    expect(await bash('pwd')).toBe(cwd);
  });

  test('a command may have several lines, and errors count them as given', async () => {
    expect(await bash('echo a\ncat <<X\nb c\nX\nif')).toMatch(
      /^a\nb c\n.*line 6: syntax error: unexpected end of file\n\n\[exit status 2\]$/,
    );
  });

  test('a non-zero exit status is an observation', async () => {
    const result = await invoke(run, { command: 'echo no; exit 7' }, cwd);
    expect(textOf(result.content)).toBe('no\n\n[exit status 7]');
    expect(result.isError).toBeUndefined();
    expect(result.details).toMatchObject({ exit_status: 7, truncated: false, full_output: null });
  });

  test('a command that says nothing is said to have said nothing', async () => {
    expect(await bash('true')).toBe('[no output]');
    expect(await bash('false')).toBe('[no output]\n\n[exit status 1]');
  });

  test('the end by a signal is named', async () => {
    expect(await bash('echo x; kill -SEGV $$')).toBe('x\n\n[ended by signal SIGSEGV]');
  });

  test('/dev/stdout and /dev/stderr can be opened', async () => {
    expect(await bash('echo a > /dev/stderr; echo b | tee /dev/stderr; echo c > /dev/stdout')).toBe('a\nb\nb\nc');
  });

  test('a folder that has gone is one clear line', async () => {
    const gone = join(cwd, 'gone');
    expect(await failure(run, { command: 'true' }, gone)).toBe(
      `cannot run commands: the working folder ${gone} does not exist any more`,
    );
  });

  test('a command longer than the system takes is one clear line', async () => {
    expect(await failure(run, { command: `: ${'x'.repeat(3_000_000)}` }, cwd)).toMatch(
      /^the command is too long for the system \(2930 kB\)/,
    );
  });
});

describe('output is plain text', () => {
  test('5000 coloured lines, a progress bar and links leave no escape (E13)', async () => {
    const output = await bash(
      String.raw`for i in $(seq 5000); do printf '\033[1;3%dmline %d\033[0m\n' $((i%8)) $i; done
      for i in $(seq 0 100); do printf '\r\033[K[%3d%%]' $i; done; printf '\n'
      printf '\033]8;;https://example.com/\033\\link\033]8;;\007 \033]0;title\007end\n'`,
    );
    expect(output).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    const lines = output.split('\n');
    expect(lines).toContain('line 5000');
    expect(lines).toContain('[100%]');
    expect(lines.filter((line) => line.includes('%]'))).toHaveLength(1);
    expect(lines).toContain('link end');
    expect(output).toContain('[Lines 3003-5002 of 5002 are shown');
  });

  test('characters that are split between two writes stay whole, invalid bytes are replaced', async () => {
    expect(
      await bash(String.raw`printf '\xe2\x82'; sleep 0.1; printf '\xac \xf0\x9f'; sleep 0.1; printf '\x98\x80 \xff\n'`),
    ).toBe('€ 😀 \ufffd');
  });

  test('an escape sequence that is split between two writes is removed', async () => {
    expect(await bash(String.raw`printf 'a\033['; sleep 0.1; printf '31mb\033'; sleep 0.1; printf '[0mc'`)).toBe('abc');
  });
});

describe('limits', () => {
  test('within the limits no file is left', async () => {
    expect(await details('seq 2000')).toMatchObject({ truncated: false, full_output: null, total_lines: 2000 });
    expect(await details('head -c 51200 /dev/zero | tr "\\0" x; echo')).toMatchObject({
      truncated: false,
      full_output: null,
    });
  });

  test('the last 2000 lines are kept and the whole output is in a file that only its owner may read', async () => {
    const result = await invoke(run, { command: 'seq 5000; exit 3' }, cwd);
    const { full_output } = result.details as { full_output: string };
    const shown = textOf(result.content).split('\n');
    expect(shown.slice(0, 2)).toEqual(['3001', '3002']);
    expect(shown.slice(1999)).toEqual([
      '5000',
      '',
      `[Lines 3001-5000 of 5000 are shown, of 23.3 kB in all. Whole output: ${full_output}]`,
      '',
      '[exit status 3]',
    ]);
    expect(readFileSync(full_output, 'utf8')).toBe(execFileSync('seq', ['5000'], { encoding: 'utf8' }));
    expect(statSync(full_output).mode & 0o777).toBe(0o600);
  });

  test('one line longer than the limit is cut at its beginning', async () => {
    const result = await invoke(run, { command: 'head -c 300000 /dev/zero | tr "\\0" x; echo END' }, cwd);
    const { full_output } = result.details as { full_output: string };
    const output = textOf(result.content);
    expect(output).toMatch(
      /^x{51197}END\n\n\[The last 50\.0 kB of line 1 are shown, of 293\.0 kB in all\. Whole output: /,
    );
    expect(statSync(full_output).size).toBe(300_004);
  });

  test('200 MB of output do not grow the memory', async () => {
    const before = process.memoryUsage().rss;
    let peak = before;
    const timer = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 50);
    const result = await invoke(
      run,
      { command: 'yes 0123456789012345678901234567890123456789 | head -c 200000000' },
      cwd,
    );
    clearInterval(timer);
    const { full_output, total_bytes } = result.details as { full_output: string; total_bytes: number };
    expect(total_bytes).toBe(200_000_000);
    expect(statSync(full_output).size).toBe(200_000_000);
    expect(peak - before).toBeLessThan(150 * 1024 * 1024);
  }, 180_000);
});

describe('nothing waits for a person (E10)', () => {
  const commands = [
    'cat',
    'grep x',
    'read -p "y? " a',
    'python3',
    'sudo -k true',
    'ssh -p 1 localhost',
    'cat /dev/tty',
  ];
  for (const command of [
    ...commands,
    'read a < /dev/tty',
    'git commit',
    'bash -i -c "read a"',
    'passwd',
    'less /etc/passwd',
  ]) {
    test(`\`${command}\` ends by itself`, async () => {
      mkdirSync(join(cwd, 'repository'), { recursive: true });
      const { output, ms } = await timed(`cd repository; ${command} | head -c 1000`);
      expect(output).not.toContain('timed out');
      expect(ms).toBeLessThan(15_000);
    });
  }

  test('there is no terminal, no pager, no colour', async () => {
    process.env.FORCE_COLOR = '3';
    const output = await bash(
      'tty; echo $TERM $NO_COLOR $PAGER $GIT_PAGER; printenv FORCE_COLOR; ps -o sid= -p $$ | tr -d " " | grep -qx $$ && echo own session',
    );
    delete process.env.FORCE_COLOR;
    expect(output).toBe('not a tty\ndumb 1 cat cat\nown session');
  });
});

describe('environment', () => {
  test('keys of providers do not reach a command, other variables do', async () => {
    const secrets = [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'OPENAI_API_KEY',
      'GEMINI_API_KEY',
      'OPENROUTER_API_KEY',
      'MY_OWN',
    ];
    for (const name of [...secrets, 'STRIPE_API_KEY', 'OPENAI_BASE_URL']) process.env[name] = `value of ${name}`;
    hideFromCommands(['MY_OWN']);
    const output = await bash('env');
    setEnvironmentData('panto:hidden-environment', undefined as never);
    for (const name of secrets) {
      expect(output).not.toContain(name);
      delete process.env[name];
    }
    expect(output).toContain('STRIPE_API_KEY=value of STRIPE_API_KEY');
    expect(output).toContain('OPENAI_BASE_URL=');
  });

  test('BASH_ENV is read once', async () => {
    writeFileSync(join(cwd, 'bash-env'), 'echo from BASH_ENV\n');
    process.env.BASH_ENV = join(cwd, 'bash-env');
    const output = await bash('echo x');
    delete process.env.BASH_ENV;
    expect(output).toBe('from BASH_ENV\nx');
  });
});

describe('background processes (E9)', () => {
  const background = '[a background process goes on; what it prints from now on is not shown]';

  for (const command of [
    'python3 -m http.server 0 --bind 127.0.0.1 & echo ok',
    '(while :; do echo x; sleep .1; done) & echo ok',
    'yes & echo ok',
    'nohup sleep 300 & echo ok',
    'sleep 300 & disown; echo ok',
    'setsid sleep 300 & echo ok',
  ]) {
    test(`\`${command}\` returns when the shell has ended`, async () => {
      const mark = markProcesses();
      const { output, ms } = await timed(command);
      expect(mark.left().length).toBeGreaterThan(0);
      killMarked(mark);
      expect(output).toContain(background);
      // yes prints so much that "ok" is not in the tail.
      if (!command.startsWith('yes')) expect(output.split('\n')).toContain('ok');
      expect(ms).toBeLessThan(10_000);
    });
  }

  test('output that is late because the machine is busy is waited for', async () => {
    // The relay is stopped and goes on only after the silence that ends a call with a process in the background.
    const output = await bash(
      'until relay=$(pgrep -s 0 -x cat); do sleep .01; done; kill -STOP $relay; echo late; setsid sh -c "sleep .4; kill -CONT $relay" >/dev/null 2>&1 &',
    );
    expect(output).toBe('late');
  });

  test('a background process whose output goes elsewhere is not waited for at all', async () => {
    const mark = markProcesses();
    expect(await bash('sleep 300 >/dev/null 2>&1 & echo ok')).toBe('ok');
    // Its relay ends a moment after the result.
    while (mark.left().length > 1) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(mark.left()).toHaveLength(1);
    killMarked(mark);
  });

  test('what a background process prints a moment later is still there, and it can go on printing for ever', async () => {
    const mark = markProcesses();
    const output = await bash(
      '(sleep .05; echo late; for i in $(seq 30); do sleep .1; head -c 4000 /dev/zero | tr "\\0" x; echo; done; touch survived; sleep 300) & echo ok',
    );
    expect(output).toContain('ok\nlate\n');
    expect(output).toContain(background);
    // The rest is more than a pipe holds, so somebody must have read it.
    expect(existsSync(join(cwd, 'survived'))).toBe(false);
    expect(await eventually(() => existsSync(join(cwd, 'survived')), 20_000)).toBe(true);
    killMarked(mark);
  });
});

describe('a call that is stopped', () => {
  test('keeps what was printed and says that it was aborted (E12)', async () => {
    const mark = markProcesses();
    const call = start(run, { command: 'for i in $(seq 100); do echo line $i; sleep .1; done' }, cwd);
    expect(await eventually(() => call.updates.some((update) => update.includes('line 3')))).toBe(true);
    call.abort('cancelled');
    const result = await call.result;
    expect(result.isError).toBe(true);
    expect(textOf(result.content)).toMatch(
      /^line 1\nline 2\nline 3\n(line \d+\n)*\n\[aborted: the command and everything it started were stopped\]$/,
    );
    expect(await eventually(() => mark.left().length === 0)).toBe(true);
  });

  for (const [what, command] of [
    ['grandchildren', 'sh -c "sleep 300 & sleep 300"'],
    ['jobs in groups of their own', 'set -m; sleep 300 & sleep 300 & wait'],
    ['children in sessions of their own', 'setsid sleep 300 & setsid --wait sleep 300'],
    ['processes that ignore SIGTERM', 'trap "" TERM; sleep 300 & (trap "" TERM; while :; do sleep 1; done)'],
    ['stopped processes', 'sleep 300 & kill -STOP $!; wait'],
    ['a flood', 'yes'],
  ] as const) {
    test(`takes ${what} with it (E11)`, async () => {
      const mark = markProcesses();
      const call = start(run, { command: `echo started; ${command}` }, cwd);
      expect(await eventually(() => call.updates.length > 0)).toBe(true);
      const before = performance.now();
      call.abort('cancelled');
      await call.result;
      expect(performance.now() - before).toBeLessThan(5000);
      expect(await eventually(() => mark.left().length === 0)).toBe(true);
    });
  }

  test('the processes have their signal before abort() returns', async () => {
    const call = start(run, { command: 'trap "echo > term; exit" TERM; echo ready; while :; do sleep .02; done' }, cwd);
    expect(await eventually(() => call.updates.length > 0)).toBe(true);
    call.abort('cancelled');
    // Nothing of this thread's event loop runs from here on.
    for (const end = Date.now() + 10_000; Date.now() < end && !existsSync(join(cwd, 'term')); );
    expect(existsSync(join(cwd, 'term'))).toBe(true);
    await call.result;
  });

  test('what a command prints while it is stopped is kept', async () => {
    const call = start(
      run,
      { command: 'trap "echo cleaned up; exit" TERM; echo ready; while :; do sleep .02; done' },
      cwd,
    );
    expect(await eventually(() => call.updates.length > 0)).toBe(true);
    call.abort('cancelled');
    expect(textOf((await call.result).content)).toMatch(/^ready\n(Terminated\n)?cleaned up\n\n\[aborted/);
  });

  test('its own timeout keeps what was printed and says how long it had', async () => {
    const mark = markProcesses();
    const result = await invoke(run, { command: 'echo a; sleep 300 & sleep 300', timeout: 0.3 }, cwd);
    expect(textOf(result.content)).toBe(
      'a\n\n[timed out after 0.3 s: the command and everything it started were stopped]',
    );
    expect(result.isError).toBe(true);
    expect(await eventually(() => mark.left().length === 0)).toBe(true);
  });

  test('a deadline of the agent is said to be one', async () => {
    const call = start(run, { command: 'echo a; sleep 300' }, cwd);
    expect(await eventually(() => call.updates.length > 0)).toBe(true);
    call.abort('timeout');
    expect(textOf((await call.result).content)).toMatch(/^a\n\n\[timed out: /);
  });

  test('while the shell has ended and a background process holds the output takes that process with it', async () => {
    const mark = markProcesses();
    const call = start(run, { command: '(while :; do echo x; sleep .02; done) & echo ok' }, cwd);
    expect(await eventually(() => call.updates.length > 0)).toBe(true);
    call.abort('cancelled');
    expect(textOf((await call.result).content)).toContain('[aborted');
    expect(await eventually(() => mark.left().length === 0)).toBe(true);
  });

  test('before it has begun starts nothing', async () => {
    const call = start(
      async (input, native) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return run(input, native);
      },
      { command: 'touch never' },
      cwd,
    );
    call.abort('cancelled');
    await expect(call.result).rejects.toThrow('aborted');
    expect(existsSync(join(cwd, 'never'))).toBe(false);
  });
});

describe('when panto ends without a word', () => {
  /** Runs a command in a process of its own, which ends in a given way once the command has printed something. */
  async function endOnFirstUpdate(command: string, end: string, env: NodeJS.ProcessEnv): Promise<void> {
    const script = `
      import { run } from ${JSON.stringify(distUrl('tools/bash').href)};
      const call = { id: '1', cwd: ${JSON.stringify(cwd)}, signal: new AbortController().signal, update() { ${end} } };
      await run(${JSON.stringify({ command })}, call);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { env, stdio: 'ignore' });
    await new Promise((resolve) => child.once('exit', resolve));
  }

  test.each([
    ['process.kill(process.pid, "SIGKILL")', 'sleep 300 & sleep 300'],
    ['process.exit(0)', 'trap "" TERM; sleep 300 & while :; do sleep 1; done'],
    ['throw new Error("crash")', 'sleep 300 | cat'],
  ])('by %s, a running command ends too', async (end, command) => {
    const mark = markProcesses();
    await endOnFirstUpdate(`echo begun; ${command}`, end, { ...process.env });
    expect(await eventually(() => mark.left().length === 0, 10_000)).toBe(true);
  });

  test('a process in the background of a finished call lives on', async () => {
    const mark = markProcesses();
    await endOnFirstUpdate('sleep 300 & echo $! > survivor', '', { ...process.env });
    const survivor = readFileSync(join(cwd, 'survivor'), 'utf8').trim();
    // Longer than the watcher would take.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(mark.left()).toContain(`${survivor} sleep 300`);
    killMarked(mark);
  });
});

test('updates are coalesced', async () => {
  const call = start(run, { command: 'for i in $(seq 1000); do echo $i; sleep .001; done' }, cwd);
  const before = performance.now();
  await call.result;
  const seconds = (performance.now() - before) / 1000;
  expect(call.updates.length).toBeGreaterThan(1);
  expect(call.updates.length / seconds).toBeLessThan(31);
});

test('calls at the same time do not mix', async () => {
  const outputs = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => bash(`for i in $(seq 50); do echo ${name}; sleep .005; done`)),
  );
  for (const [i, name] of ['a', 'b', 'c', 'd'].entries()) expect(outputs[i]).toBe(Array(50).fill(name).join('\n'));
});
