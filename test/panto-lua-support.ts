// `panto lua` beside the stock interpreter of the same version, each as a process.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import { type Finished, finished, panto, type RunOptions } from './cli-support.js';
import { testTree } from './lua-support.js';

export type Interpreter = 'panto' | 'stock';
export const interpreters: readonly Interpreter[] = ['panto', 'stock'];

/** A folder with Lua files, and both interpreters in it. */
export class LuaPlace {
  readonly dir = mkdtempSync(join(tmpdir(), 'panto-lua-'));
  readonly #stock: string;
  readonly #children = new Set<ChildProcess>();

  constructor() {
    const script = join(packageRoot, 'scripts/conformance/build-stock-lua');
    this.#stock = execFileSync(script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  }

  write(name: string, text: string): string {
    const path = join(this.dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Both call themselves `lua`. Nothing of this process's environment reaches them. */
  start(interpreter: Interpreter, args: readonly string[], { env = {}, cwd = this.dir }: RunOptions = {}) {
    const options = { cwd, env: this.#environment(env) };
    const child =
      interpreter === 'panto'
        ? spawn(process.execPath, [panto, 'lua', ...args], options)
        : spawn(this.#stock, args, { ...options, argv0: 'lua' });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  /** Runs to the end. */
  run(interpreter: Interpreter, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    const child = this.start(interpreter, args, options);
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    return finished(child);
  }

  /** Runs both and expects the same of them: both streams, status, signal. */
  async runBoth(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    const [ours, stock] = await Promise.all([this.run('panto', args, options), this.run('stock', args, options)]);
    expect(ours).toEqual(stock);
    return ours;
  }

  /** Runs a bash line in which `lua` is the interpreter. */
  shell(interpreter: Interpreter, line: string, options: RunOptions = {}): Promise<Finished> {
    const command = interpreter === 'panto' ? [process.execPath, panto, 'lua'] : [this.#stock];
    const words = command.map((word) => `'${word}'`).join(' ');
    const text = `lua() { (exec -a lua ${words} "$@"); }\n${line}`;
    const child = spawn('bash', ['-c', text], { cwd: options.cwd ?? this.dir, env: this.#environment(options.env) });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    child.stdin.end(options.input ?? '');
    return finished(child);
  }

  async shellBoth(line: string): Promise<Finished> {
    const [ours, stock] = await Promise.all([this.shell('panto', line), this.shell('stock', line)]);
    expect(ours).toEqual(stock);
    return ours;
  }

  #environment(env: RunOptions['env'] = {}): Record<string, string> {
    const all = { PATH: process.env.PATH, HOME: this.dir, PANTO_HOME: testTree.pantoHome, ...env };
    return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  dispose(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Resolves when the child has printed `text` on its standard output. */
export function printed(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let all = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      all += chunk;
      if (all.includes(text)) resolve();
    });
    child.once('exit', () => reject(new Error(`ended without printing ${text}: ${all}`)));
  });
}
