// `panto trust`: trust the project of this folder, take that back, or list what is trusted.
import { pantoPaths, projectRoot, userHome } from '../../config/paths.js';
import { listTrusted, revokeTrust, trustProject, trustState } from '../../extensions/trust.js';
import { cleanLine } from '../../ui/clean.js';
import { UsageError } from '../args.js';
import { loadable } from '../commands.js';
import { standardOutput } from '../output.js';

export const trust = loadable(
  {
    folder: { type: 'positional', required: false, description: 'A folder of the project (default: this one)' },
    list: { type: 'boolean', description: 'List the trusted projects' },
    revoke: { type: 'boolean', description: 'Forget that the project is trusted' },
    debug: { type: 'boolean', description: 'Show tracebacks' },
  },
  1,
  async (args) => {
    const store = { stateDir: pantoPaths(process.env).stateDir, home: userHome(process.env) };
    const print = (line: string) => standardOutput().write(`${line}\n`);
    if (args.list && (args.revoke || args.folder !== undefined))
      throw new UsageError('--list takes no folder and no other flag');
    if (args.list) {
      for (const { root, trustedAt } of await listTrusted(store))
        print(`${cleanLine(root)}  since ${trustedAt.slice(0, 10)}`);
      return 0;
    }
    const root = projectRoot(args.folder ?? process.cwd());
    const shown = cleanLine(root);
    if (args.revoke) {
      print((await revokeTrust(root, store)) ? `${shown} is no longer trusted` : `${shown} was not trusted`);
      return 0;
    }
    const report = await trustState(root, store);
    if (report.state === 'nothing') {
      print(`${shown} has no .panto/ that would need trust`);
      return 0;
    }
    await trustProject(report, store);
    print(`${shown} is trusted as it is now: ${report.contents.map(cleanLine).join(', ')}`);
    return 0;
  },
);
