// What coalesced wake-ups are worth: many callers that each wait for one call at a time.
import { makeCalls, runBatch, withLua } from '../lua-host.js';
import { interleave, settleHeap, time } from '../measure.js';
import type { Row } from '../row.js';

const loops = 64;
const input = JSON.stringify({ text: 'hello', line: 17 });

/**
 * The reference is the same calls by one loop: then nothing can be coalesced and each call costs its own wake-up and promise,
 * on one connection. The runtime has no switch that turns coalescing off for 64 loops.
 */
export const concurrentLoops: Row = {
  name: 'concurrent-loops',
  measures:
    'Calls a second of 64 concurrent loops of single calls, against one loop, where every call has a wake-up of its own.',
  subject: '64 loops of single calls',
  reference: '1 loop, one wake-up a call',
  unit: 'calls/s',
  run: (options) =>
    withLua({ trivial: 'return input.text' }, (lua) => {
      const count = options.quick ? 128 : 4096;
      const rate = async (parallel: number) => {
        const calls = Array.from({ length: count }, () => makeCalls('trivial', input, 1));
        await settleHeap();
        const loop = async (first: number) => {
          for (let i = first; i < count; i += parallel) await runBatch(lua, calls[i]!);
        };
        const taken = await time(async () => {
          await Promise.all(Array.from({ length: parallel }, (_, first) => loop(first)));
        });
        return (count / taken) * 1000;
      };
      return interleave({ subject: () => rate(loops), reference: () => rate(1) }, options);
    }),
};
