// `panto bootstrap`: what every start does when something is missing, done now and said.
import { dataFolder } from '../../config/paths.js';
import { syncTree } from '../../rocks/index.js';
import { cleanLine } from '../../ui/clean.js';
import { loadable } from '../commands.js';
import { onLeave } from '../exit.js';
import { standardError, standardOutput } from '../output.js';

export const bootstrap = loadable(
  {
    force: { type: 'boolean', description: 'Do all of it again, compiling included' },
    debug: { type: 'boolean', description: 'Show tracebacks' },
  },
  0,
  async (args) => {
    const stopping = new AbortController();
    let synced: Promise<unknown> = Promise.resolve();
    onLeave(async () => {
      stopping.abort();
      await synced;
    });
    const work = syncTree({
      pantoHome: dataFolder(process.env),
      force: args.force === true,
      onProgress: (line) => standardError().write(`panto: ${cleanLine(line)}\n`),
      signal: stopping.signal,
    });
    synced = work;
    const result = await work;
    if (result.kind === 'failed') throw new Error(result.message);
    standardOutput().write(`${result.kind === 'ready' ? 'up to date' : 'ready'}: ${cleanLine(result.tree.root)}\n`);
    return 0;
  },
);
