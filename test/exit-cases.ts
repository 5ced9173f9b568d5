// The exit matrix: every host, everything that Lua may hold, every way to end; and what is right.
import { type Hold, holds } from './exit-holds.js';
import { type Ending, endings, type Host, type Outcome } from './exit-runs.js';

export interface ExitCase {
  readonly name: string;
  readonly host: Host;
  readonly hold: Hold;
  readonly ending: Ending;
}

/** Nothing may take longer to end; milliseconds. */
const limitMs = 5000;

export const exitCases: readonly ExitCase[] = Object.entries(holds).flatMap(([held, hold]) =>
  (['node', 'panto'] as const).flatMap((host) =>
    (Object.keys(endings) as Ending[])
      // The command always disposes; a program with an open call that never settles has no natural end.
      .filter((ending) => !(host === 'panto' && ending === 'natural, disposed'))
      .filter((ending) => !(host === 'node' && ending === 'natural' && hold.stuck))
      .map((ending) => ({ name: `${host}, ${held}, ${ending}`, host, hold, ending })),
  ),
);

/** What is wrong with an outcome; empty: nothing. */
export function judge({ hold, ending }: ExitCase, outcome: Outcome): string[] {
  const faults: string[] = [];
  const { status, signal, tookMs, orphans, output } = outcome;
  if (status !== endings[ending]) faults.push(`status ${status ?? signal}, not ${endings[ending]}`);
  if (tookMs > limitMs) faults.push(`took ${Math.round(tookMs)} ms`);
  const survivors = hold.survivor ? 1 : 0;
  if (orphans.length !== survivors) faults.push(`left ${orphans.length === 0 ? 'nothing' : orphans.join(', ')}`);
  const crash = /FATAL ERROR|Assertion.*failed|double free|PANIC|Segmentation/.exec(output);
  if (crash) faults.push(crash[0]);
  return faults;
}
