// Whether Lua inside panto is as fast as Lua: six programs, each by `panto lua` and by the stock interpreter.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { packageRoot } from '../../lib/core/package-root.js';
import { interleave, type Turns } from '../measure.js';
import { type Home, panto, withHome } from '../processes.js';
import type { Row } from '../row.js';

/** About 50 ms of work each. */
const sizes = { fib: 26, nbody: 9000, strings: 70, sort: 16_000, patterns: 60, closures: 80_000 };

const programDir = join(packageRoot, 'bench/programs');

/** A process changes its luck with its layout in memory and the seed of its strings: that many are taken. */
const pairsOfProcesses = 5;

/** An interpreter that runs one program whenever it is asked to. */
class Interpreter {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: Interface;
  #stderr = '';

  constructor(home: Home, command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { cwd: home.cwd, env: home.env });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.#lines = createInterface(this.#child.stdout);
  }

  /** Runs of the program a second, by its processor time. */
  async run(): Promise<number> {
    const line = new Promise<string>((resolve, reject) => {
      this.#lines.once('line', resolve);
      this.#lines.once('close', () => reject(new Error(`the interpreter ended: ${this.#stderr.trim()}`)));
    });
    this.#child.stdin.write('\n');
    const seconds = Number(await line);
    this.#lines.removeAllListeners();
    return 1 / seconds;
  }

  end(): void {
    this.#child.stdin.end();
    this.#child.kill();
  }
}

async function comparePair(home: Home, stock: string, args: readonly string[], turns: Turns) {
  const ours = new Interpreter(home, process.execPath, [panto, 'lua', ...args]);
  const theirs = new Interpreter(home, stock, args);
  try {
    return await interleave({ subject: () => ours.run(), reference: () => theirs.run() }, turns);
  } finally {
    ours.end();
    theirs.end();
  }
}

function program(name: keyof typeof sizes): Row {
  return {
    name: `lua-${name}`,
    measures: `Runs a second of bench/programs/${name}.lua, by the processor time that os.clock tells.`,
    subject: 'panto lua',
    reference: 'stock lua 5.4.7, -O2',
    unit: 'runs/s',
    limit: { of: 'ratio', bound: 'at least', value: 0.98 },
    run: ({ rounds, warmUps, quick }) =>
      withHome(async (home) => {
        const stock = execFileSync(join(packageRoot, 'bench/build-stock-lua'), { encoding: 'utf8' }).trim();
        const size = quick ? Math.ceil(sizes[name] / 10) : sizes[name];
        const args = [join(programDir, 'serve.lua'), join(programDir, `${name}.lua`), String(size)];
        const pairs = quick ? 1 : pairsOfProcesses;
        const outcome = { subject: [] as number[], reference: [] as number[] };
        for (let pair = 0; pair < pairs; pair++) {
          const figures = await comparePair(home, stock, args, {
            rounds: Math.ceil((rounds * 2) / pairs),
            warmUps: Math.min(warmUps, 1),
          });
          outcome.subject.push(...figures.subject);
          outcome.reference.push(...figures.reference);
        }
        return outcome;
      }),
  };
}

export const pureLua: readonly Row[] = (Object.keys(sizes) as (keyof typeof sizes)[]).map(program);
