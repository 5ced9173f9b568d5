// The long form of test/lua-stop.test.ts: scripts/stop-matrix.
import setUp from './global-setup.js';
import { runawayKinds } from './stop-kinds.js';
import { type StopWay, startRunaways, stopOnce } from './stop-runs.js';

export interface MatrixOptions {
  /** Of each kind, each way. */
  readonly runs: number;
  /** Only kinds whose name contains this. */
  readonly only: string;
  readonly graceMs: number;
}

function median(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function describe(numbers: readonly number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  return `${median(sorted).toFixed(1).padStart(7)} ${(sorted.at(-1) ?? Number.NaN).toFixed(1).padStart(7)}`;
}

/** Runs all and prints a line a kind; returns the number of runs with a fault. */
export async function runMatrix({ runs, only, graceMs }: MatrixOptions): Promise<number> {
  await setUp();
  const kinds = runawayKinds.filter(({ name }) => name.includes(only));
  const ways: readonly StopWay[] = ['abort', 'hold'];
  const all: number[] = [];
  let bad = 0;
  console.log(`${kinds.length} kinds, ${runs} runs each way; milliseconds from the request to the end`);
  console.log(`${''.padEnd(50)} median   worst   without what the handler was given: median   worst`);
  for (const way of ways) {
    const limits = { holdLimitMs: way === 'hold' ? 200 : 60_000, graceMs };
    const lua = await startRunaways(limits);
    for (const kind of kinds) {
      const took: number[] = [];
      const lags: number[] = [];
      for (let i = 0; i < runs; i++) {
        const outcome = await stopOnce(lua, kind, way, limits);
        took.push(outcome.tookMs);
        lags.push(outcome.lagMs);
        if (outcome.faults.length === 0) continue;
        bad += 1;
        console.log(`FAULT ${way}: ${kind.name}: ${outcome.faults.join('; ')}`);
      }
      all.push(...lags);
      console.log(`${way.padEnd(5)} ${kind.name.padEnd(43)} ${describe(took)}   ${describe(lags)}`);
    }
    lua.stop();
  }
  console.log(`${all.length} runs, ${bad} with a fault; lag: median, worst ${describe(all)}`);
  return bad;
}
