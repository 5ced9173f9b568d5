// Throughput of one large batch, against Lua in the JS thread.
import { fengariHandler } from '../engines/fengari.js';
import { wasmoonHandler } from '../engines/wasmoon.js';
import { makeCalls, runBatch, withLua } from '../lua-host.js';
import { interleave, settleHeap, time } from '../measure.js';
import type { Row } from '../row.js';

const input = JSON.stringify({ path: 'src/main.c', line: 17, words: ['some', 'more'] });
const expected = 'src/main.c:17:more';
const body = 'return input.path .. ":" .. input.line .. ":" .. input.words[2]';

export const batch: Row = {
  name: 'batch-4096',
  measures: 'Calls a second of a batch of 4096: JSON text in, a table for the handler, a string out.',
  subject: 'invokeBatch of 4096 calls',
  reference: 'wasmoon, called 4096 times',
  unit: 'calls/s',
  limit: { of: 'ratio', bound: 'at least', value: 5 },
  run: (options) =>
    withLua({ describe: body }, async (lua) => {
      const count = options.quick ? 64 : 4096;
      const engines = { wasmoon: await wasmoonHandler(body), fengari: fengariHandler(body) };
      const callEach = (call: (json: string) => string) => async () => {
        await settleHeap();
        const taken = await time(async () => {
          for (let i = 0; i < count; i++) if (call(input) !== expected) throw new Error('a wrong result');
        });
        return (count / taken) * 1000;
      };
      try {
        const { fengari, ...outcome } = await interleave(
          {
            subject: async () => {
              const calls = makeCalls('describe', input, count);
              await settleHeap();
              return (count / (await time(() => runBatch(lua, calls)))) * 1000;
            },
            reference: callEach(engines.wasmoon.call),
            fengari: callEach(engines.fengari.call),
          },
          options,
        );
        return { ...outcome, others: { 'fengari, called 4096 times': fengari } };
      } finally {
        engines.wasmoon.close();
      }
    }),
};
