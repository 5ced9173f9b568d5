// The price of crossing to the Lua thread and back.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { makeCalls, runBatch, withLua } from '../lua-host.js';
import { interleave, settleHeap, timeEach, toMicroseconds } from '../measure.js';
import type { Row } from '../row.js';

const input = JSON.stringify({ text: 'hello', line: 17 });

/** Round trips in one turn of a side. */
const tripsPerRound = 50;

/** Sends what it gets back, and holds nothing else. */
const echo =
  "const { parentPort } = require('node:worker_threads'); parentPort.on('message', (m) => parentPort.postMessage(m));";

export const trivialCall: Row = {
  name: 'trivial-call',
  measures: 'One call of a Lua handler that returns a string: from invokeBatch to its promise.',
  subject: 'invokeBatch of one call',
  reference: 'worker postMessage round trip of the same string',
  unit: 'us',
  limit: { of: 'ratio', bound: 'at most', value: 0.5 },
  run: ({ rounds, warmUps }) =>
    withLua({ trivial: 'return input.text' }, async (lua) => {
      const worker = new Worker(echo, { eval: true });
      await once(worker, 'online');
      let arrived: () => void = () => {};
      worker.on('message', () => arrived());
      try {
        return await interleave(
          {
            subject: async () => {
              const calls = Array.from({ length: tripsPerRound }, () => makeCalls('trivial', input, 1));
              await settleHeap();
              return (await timeEach(tripsPerRound, (i) => runBatch(lua, calls[i]!))).map(toMicroseconds);
            },
            reference: async () => {
              await settleHeap();
              const trip = () =>
                new Promise<void>((resolve) => {
                  arrived = resolve;
                  worker.postMessage(input);
                });
              return (await timeEach(tripsPerRound, trip)).map(toMicroseconds);
            },
          },
          { rounds: rounds * 2, warmUps: warmUps * 10 },
        );
      } finally {
        await worker.terminate();
      }
    }),
};
