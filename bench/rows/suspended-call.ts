// What a call that waits keeps in Lua's heap.
import { makeCalls, runBatch, withLua } from '../lua-host.js';
import type { Row } from '../row.js';

const tools = {
  // The slots that hold what ends the waits are there before the first figure is taken.
  prepare: 'count, waiting = 0, {} for i = 1, input.calls do waiting[i] = false end',
  // Its input is a number: no table of the caller's counts.
  suspend: 'async.await(function(resume) count = count + 1 waiting[count] = resume end)',
  release: 'for i = 1, count do waiting[i]() end count = 0',
  // Twice: what a finalizer let go is freed by the second.
  heap: 'collectgarbage() collectgarbage() return tostring(math.floor(collectgarbage("count") * 1024))',
};

export const suspendedCall: Row = {
  name: 'suspended-call',
  measures: 'Lua heap of a call suspended in await, without its input, over 10,000 calls at once.',
  subject: 'a suspended call',
  unit: 'bytes',
  limit: { of: 'subject', bound: 'at most', value: 2500 },
  run: ({ rounds, quick }) =>
    withLua(
      tools,
      async (lua) => {
        const count = quick ? 100 : 10_000;
        await lua.text('prepare', { calls: count });
        const figures: number[] = [];
        // The first round also grows tables that stay: it does not count.
        for (let round = -1; round < Math.min(rounds, 3); round++) {
          const before = Number(await lua.text('heap'));
          const suspended = runBatch(lua, makeCalls('suspend', '0', count));
          const during = Number(await lua.text('heap'));
          await lua.text('release');
          await suspended;
          if (round >= 0) figures.push((during - before) / count);
        }
        return { subject: figures };
      },
      'local async = panto.async\nlocal count, waiting',
    ),
};
