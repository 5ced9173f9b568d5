// The short form of the exit matrix: each thing that Lua may hold, with each host, and in turn each way to end. scripts/exit-matrix
// runs all combinations, as often as asked.
import { exitCases, judge } from './exit-cases.js';
import { holds } from './exit-holds.js';
import { runToItsEnd } from './exit-runs.js';
import { testTree } from './lua-support.js';

const short = Object.values(holds).flatMap((hold, i) =>
  (['node', 'panto'] as const).flatMap((host) => {
    const cases = exitCases.filter((each) => each.hold === hold && each.host === host);
    return cases.filter((_, at) => at === (i + (host === 'node' ? 0 : 3)) % cases.length);
  }),
);

test('the short form has every ending', () => {
  expect(new Set(short.map(({ ending }) => ending))).toEqual(new Set(exitCases.map(({ ending }) => ending)));
});

test.concurrent.each(short)('$name', async (each) => {
  expect(judge(each, await runToItsEnd(each.host, each.hold, each.ending, testTree.pantoHome))).toEqual([]);
});
