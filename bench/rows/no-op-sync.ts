// What the sync of the tree costs a start that has nothing to sync.
import { spawnSync } from 'node:child_process';
import { testTree } from '../../test/lua-support.js';
import { interleave } from '../measure.js';
import { emptyNode, timeNode, withHome } from '../processes.js';
import type { Row } from '../row.js';

/** The first sync of a process, as every start has it: nothing is warm. The module is loaded before the clock starts. */
const firstSync = `
  import { syncTree } from ${JSON.stringify(new URL('../../lib/rocks/index.js', import.meta.url).href)};
  const begin = performance.now();
  const { kind } = await syncTree({ pantoHome: process.env.PANTO_HOME });
  const taken = performance.now() - begin;
  console.log(JSON.stringify({ kind, taken }));`;

export const noOpSync: Row = {
  name: 'no-op-sync',
  measures: 'The first syncTree of a process on a current tree, inside the process.',
  subject: 'syncTree with nothing to do',
  reference: 'node -e 0',
  unit: 'ms',
  limit: { of: 'ratio', bound: 'at most', value: 0.05 },
  run: (options) =>
    withHome((home) =>
      interleave(
        {
          subject: () => {
            const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', firstSync], {
              env: { ...home.env, PANTO_HOME: testTree.pantoHome },
              cwd: home.cwd,
              encoding: 'utf8',
            });
            if (stdout === '') throw new Error(`the sync did not run: ${stderr.trim()}`);
            const { kind, taken } = JSON.parse(stdout) as { kind: string; taken: number };
            if (kind !== 'ready') throw new Error(`the sync was no no-op: ${kind}`);
            return taken;
          },
          reference: () => timeNode(home, emptyNode),
        },
        options,
      ),
    ),
};
