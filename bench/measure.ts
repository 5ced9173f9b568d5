// Measuring two or more sides in the same stretch of time: the machine may be busy, but then it is so for all of them.
import type { RunOptions } from './row.js';

export type Turns = Pick<RunOptions, 'rounds' | 'warmUps'>;

/** One run of a side: one figure, or one for each of the many small things it did. */
export type Side = () => Promise<number | readonly number[]> | number | readonly number[];

/**
 * What was made before the clock starts (a signal a call, say) is garbage or old by then; run-row.js is started with
 * --expose-gc. Awaited, since finalizers run later.
 */
export async function settleHeap(): Promise<void> {
  globalThis.gc?.();
  await new Promise((resolve) => setImmediate(resolve));
}

/** Runs the sides in turn, ABAB…. The figures of each side in the order they came. */
export async function interleave<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  { rounds, warmUps }: Turns,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(sides) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = -warmUps; round < rounds; round++) {
    for (const name of names) {
      const figure = await sides[name]();
      if (round < 0) continue;
      if (typeof figure === 'number') figures[name].push(figure);
      else figures[name].push(...figure);
    }
  }
  return figures;
}

/** Milliseconds of each of `count` runs, one after another. */
export async function timeEach(count: number, work: (index: number) => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) times.push(await time(() => work(index)));
  return times;
}

/** Milliseconds. */
export async function time(work: () => Promise<void>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

export const toMicroseconds = (ms: number): number => ms * 1000;
