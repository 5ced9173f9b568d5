// Every row, in the order of the report.
import type { Row } from '../row.js';
import { batch } from './batch.js';
import { concurrentLoops } from './concurrent-loops.js';
import { extensionsStart } from './extensions-start.js';
import { loopLag } from './loop-lag.js';
import { noOpSync } from './no-op-sync.js';
import { pureLua } from './pure-lua.js';
import { sleepingTasks } from './sleeping-tasks.js';
import { luaStart, versionStart } from './starts.js';
import { suspendedCall } from './suspended-call.js';
import { trivialCall } from './trivial-call.js';

export const rows: readonly Row[] = [
  trivialCall,
  batch,
  concurrentLoops,
  sleepingTasks,
  suspendedCall,
  loopLag,
  ...pureLua,
  noOpSync,
  versionStart,
  luaStart,
  extensionsStart,
];
