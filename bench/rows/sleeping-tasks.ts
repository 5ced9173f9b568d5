// What a task costs above the bare timer that it waits for.
import { makeCalls, runBatch, withLua } from '../lua-host.js';
import { interleave, settleHeap, time } from '../measure.js';
import type { Row } from '../row.js';

const count = 1000;

const tools = {
  sleep_once: 'panto.async.sleep(0.05)',
  // The same number of luv timers, started and waited for by one handler.
  raw_timers: `
    local left = ${count}
    async.await(function(resume)
      for _ = 1, left do
        local timer = uv.new_timer()
        timer:start(50, 0, function()
          timer:close()
          left = left - 1
          if left == 0 then resume() end
        end)
      end
    end)`,
};

export const sleepingTasks: Row = {
  name: 'sleeping-tasks',
  measures: 'A batch of 1000 calls that each sleep 50 ms, against one call that starts 1000 luv timers of 50 ms.',
  subject: '1000 x panto.async.sleep(0.05)',
  reference: '1000 luv timers in one handler',
  unit: 'ms',
  limit: { of: 'ratio', bound: 'at most', value: 1.1 },
  run: (options) =>
    withLua(
      tools,
      (lua) =>
        interleave(
          {
            subject: async () => {
              const calls = makeCalls('sleep_once', '{}', count);
              await settleHeap();
              return time(() => runBatch(lua, calls));
            },
            reference: async () => {
              const calls = makeCalls('raw_timers', '{}', 1);
              await settleHeap();
              return time(() => runBatch(lua, calls));
            },
          },
          options,
        ),
      'local async = panto.async',
    ),
};
