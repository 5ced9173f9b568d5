// What panto adds to the start of Node.

import { interleave } from '../measure.js';
import { emptyNode, panto, timeNode, withHome } from '../processes.js';
import type { Row } from '../row.js';

function start(name: string, args: readonly string[], measures: string): Row {
  return {
    name,
    measures,
    subject: `panto ${args.map((arg) => (arg === '' ? "''" : arg)).join(' ')}`,
    reference: 'node -e 0',
    unit: 'ms',
    limit: { of: 'ratio', bound: 'at most', value: 1.15 },
    run: (options) =>
      withHome((home) =>
        interleave(
          { subject: () => timeNode(home, [panto, ...args]), reference: () => timeNode(home, emptyNode) },
          options,
        ),
      ),
  };
}

export const versionStart = start('start-version', ['--version'], 'A whole process that prints its version.');

export const luaStart = start(
  'start-lua',
  ['lua', '-e', ''],
  'A whole process that runs an empty Lua chunk on the tree.',
);
