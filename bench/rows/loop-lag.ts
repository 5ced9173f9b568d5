// Whether the agent stays responsive while Lua computes.
import { makeCalls, runBatch, withLua } from '../lua-host.js';
import { interleave } from '../measure.js';
import { quantile, type Row } from '../row.js';

const tickMs = 2;

const tools = {
  // Computes and allocates, so that the collector is busy, too.
  compute: `
    local finish = uv.hrtime() + input.ms * 1e6
    local kept = {}
    while uv.hrtime() < finish do
      for i = 1, 1000 do kept[i % 100 + 1] = { tostring(i), i } end
    end`,
};

/** How late the timer ticks of the JS thread were for `ms`: the 99th percentile. */
async function measureLag(ms: number): Promise<number> {
  const late: number[] = [];
  const end = performance.now() + ms;
  for (let due = performance.now() + tickMs; due < end; due = performance.now() + tickMs) {
    await new Promise((resolve) => setTimeout(resolve, tickMs));
    late.push(Math.max(0, performance.now() - due));
  }
  return quantile(
    late.sort((a, b) => a - b),
    0.99,
  );
}

export const loopLag: Row = {
  name: 'loop-lag',
  measures:
    'The 99th percentile of how late a 2 ms timer of the JS thread is while a Lua handler computes, against an idle Lua thread.',
  subject: 'with a busy Lua thread',
  reference: 'with an idle one',
  unit: 'ms',
  run: (options) =>
    withLua(tools, (lua) => {
      const ms = options.quick ? 50 : 500;
      return interleave(
        {
          subject: async () => {
            const busy = runBatch(lua, makeCalls('compute', JSON.stringify({ ms }), 1));
            const lag = await measureLag(ms);
            await busy;
            return lag;
          },
          reference: () => measureLag(ms),
        },
        options,
      );
    }),
};
