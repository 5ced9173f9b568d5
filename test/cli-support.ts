// Runs the built panto as a person would: a child process or a real terminal, with a home of its own.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type IPty, spawn as spawnTerminal } from '@lydell/node-pty';
import { packageRoot } from '../lib/core/package-root.js';

export const panto = join(packageRoot, 'bin/panto');

export interface Finished {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}
export interface RunOptions {
  /** Default: an empty stdin. */
  readonly input?: string | Buffer;
  readonly env?: Record<string, string | undefined>;
  readonly cwd?: string;
}
interface ScriptedTurn {
  text?: string;
  delay_ms?: number;
  stop?: string;
  tool_calls?: { name: string; input?: unknown; input_text?: string }[];
}

/** Trees are built once for all places of a test file. */
let sharedTree: string | undefined;

/** A home, a project folder and an environment that has nothing of the machine's user. */
export class Place {
  readonly root = mkdtempSync(join(tmpdir(), 'panto-cli-'));
  readonly home = join(this.root, 'home');
  readonly project = join(this.root, 'project');
  readonly #children = new Set<ChildProcess>();
  readonly #terminals = new Set<TestTerminal>();
  #scripts = 0;

  constructor() {
    mkdirSync(this.home);
    mkdirSync(this.project);
  }

  get env(): Record<string, string> {
    const env: Record<string, string> = {
      PATH: process.env.PATH ?? '',
      HOME: this.home,
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
    };
    if (sharedTree !== undefined) env.PANTO_HOME = sharedTree;
    return env;
  }

  /** Writes a file of the project, or of the home when the path begins with `~/`. */
  write(path: string, content: string): string {
    const file = path.startsWith('~/') ? join(this.home, path.slice(2)) : join(this.project, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  /** A model that plays these turns, for --model. */
  script(turns: readonly ScriptedTurn[]): string {
    const file = join(this.root, `script-${++this.#scripts}.json`);
    writeFileSync(file, JSON.stringify({ turns }));
    return `scripted:${file}`;
  }

  start(args: readonly string[], options: RunOptions = {}): ChildProcess {
    const child = spawn(process.execPath, [panto, ...args], this.#spawnOptions(options));
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  /** Runs to the end. */
  run(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    const child = this.start(args, options);
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
    return finished(child);
  }

  /** Runs a shell line; `$panto` is the command. */
  shell(line: string, options: RunOptions = {}): Finished {
    const { status, signal, stdout, stderr } = spawnSync(
      'bash',
      ['-c', `panto() { "${process.execPath}" "${panto}" "$@"; }; ${line}`],
      {
        ...this.#spawnOptions(options),
        input: options.input ?? '',
        encoding: 'utf8',
        maxBuffer: 1 << 28,
        timeout: 50_000,
      },
    );
    return { status, signal, stdout, stderr };
  }

  terminal(args: readonly string[], env: Record<string, string | undefined> = {}): TestTerminal {
    const terminal = new TestTerminal(args, this.project, definedOnly({ ...this.env, ...env }));
    this.#terminals.add(terminal);
    return terminal;
  }

  /** Waits for a file of the project that has content; gives that. */
  async appears(path: string): Promise<string> {
    const file = join(this.project, path);
    for (let tries = 0; tries < 400; tries++) {
      if (existsSync(file) && readFileSync(file, 'utf8') !== '') return readFileSync(file, 'utf8');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${file} did not appear in 20 s`);
  }

  /**
   * A PATH whose C compiler makes the file `compiling` in the project and then waits for `release`, before it works as the real
   * one does.
   */
  slowCompiler(): { bin: string; release(): void } {
    const folder = join(this.root, 'slow-bin');
    const gate = join(this.root, 'release');
    mkdirSync(folder);
    writeFileSync(
      join(folder, 'cc'),
      `#!/bin/sh\necho yes >'${join(this.project, 'compiling')}'\nwhile [ ! -e '${gate}' ]; do sleep 0.05; done\nPATH='${process.env.PATH}' exec cc "$@"\n`,
      { mode: 0o755 },
    );
    return { bin: `${folder}:${process.env.PATH}`, release: () => writeFileSync(gate, '') };
  }

  /** Ends what still runs and removes everything. */
  dispose(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    for (const terminal of this.#terminals) terminal.kill();
    rmSync(this.root, { recursive: true, force: true });
  }

  #spawnOptions({ env = {}, cwd = this.project }: RunOptions) {
    return { cwd, env: definedOnly({ ...this.env, ...env }) };
  }
}

/** Builds one tree for all places of this test file; gives the function that removes it. */
export async function buildSharedTree(): Promise<() => void> {
  const place = new Place();
  const tree = join(place.root, 'panto-home');
  const { status, stderr } = await place.run(['bootstrap'], { env: { PANTO_HOME: tree } });
  if (status !== 0) throw new Error(`panto bootstrap failed: ${stderr}`);
  sharedTree = tree;
  return () => place.dispose();
}

export function finished(child: ChildProcess): Promise<Finished> {
  return new Promise((resolve) => {
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('close', (status, signal) => resolve({ status, signal, stdout, stderr }));
  });
}

/** panto at a terminal of its own. */
export class TestTerminal {
  readonly #pty: IPty;
  readonly #waiting = new Set<() => void>();
  /** Everything that was printed, with its control sequences. */
  raw = '';
  /** Resolves with the exit status. */
  readonly exited: Promise<number>;
  #running = true;

  constructor(args: readonly string[], cwd: string, env: Record<string, string>) {
    this.#pty = spawnTerminal(process.execPath, [panto, ...args], {
      cwd,
      env,
      cols: 100,
      rows: 30,
      name: env.TERM ?? 'xterm',
    });
    this.#pty.onData((data) => {
      this.raw += data;
      for (const check of this.#waiting) check();
    });
    this.exited = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal }) => {
        this.#running = false;
        resolve(signal ? 128 + signal : exitCode);
        for (const check of this.#waiting) check();
      });
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** Everything that was printed, as text. */
  get text(): string {
    return stripVTControlCharacters(this.raw).replace(/\r/g, '');
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  /** Waits for a text that comes after what was seen before; fails with the screen when it does not come. */
  async see(expected: string | RegExp): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error) => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        if (error) reject(error);
        else resolve();
      };
      const fail = (why: string) => done(new Error(`${why}: no ${expected} in\n${this.text.slice(this.#seen)}`));
      const check = () => {
        const rest = this.text.slice(this.#seen);
        const match =
          typeof expected === 'string' ? { index: rest.indexOf(expected), 0: expected } : expected.exec(rest);
        if (match && match.index >= 0) {
          this.#seen += match.index + match[0].length;
          done();
        } else if (!this.#running) fail('panto has ended');
      };
      const timer = setTimeout(() => fail('not seen in 20 s'), 20_000);
      this.#waiting.add(check);
      check();
    });
  }
  #seen = 0;

  kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGHUP' | 'SIGINT' = 'SIGKILL'): void {
    if (this.#running) this.#pty.kill(signal);
  }
}

function definedOnly(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
