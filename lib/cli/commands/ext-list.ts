// `panto ext list`: every extension source and entry: its name, layer, what became of it, and where it is.
import type { ExtensionState } from '../../extensions/load.js';
import { cleanLine } from '../../ui/clean.js';
import { loadable } from '../commands.js';
import { onLeave } from '../exit.js';
import { loadAll } from '../extension-loading.js';
import { startLua } from '../lua-runtime.js';
import type { Notice } from '../notice.js';
import { standardError, standardOutput } from '../output.js';
import { readSetup } from '../setup.js';

export const extList = loadable(
  {
    json: { type: 'boolean', description: 'As a JSON array' },
    trust: { type: 'boolean', description: 'Trust this project: load its .panto/ and remember that' },
    debug: { type: 'boolean', description: 'Show tracebacks' },
  },
  0,
  async (args) => {
    const stopping = new AbortController();
    // The reasons of sources that failed stand in the list.
    const shown = new Set<string>();
    const notices: Notice[] = [];
    const notify = (notice: Notice) => {
      if (notice.level === 'info') standardError().write(`panto: ${cleanLine(notice.message)}\n`);
      else notices.push(notice);
    };
    const setup = await readSetup({ cwd: process.cwd(), env: process.env, trust: args.trust === true, notify });
    const loading = loadAll(setup, { notify, startLua, signal: stopping.signal });
    onLeave(async () => {
      stopping.abort();
      await (await loading.catch(() => undefined))?.runtime?.dispose();
    });
    const { states } = await loading;
    for (const { reason } of states) if (reason !== undefined) shown.add(reason);
    for (const { message } of notices)
      if (!shown.has(message)) standardError().write(`panto: warning: ${cleanLine(message)}\n`);
    standardOutput().write(args.json ? `${JSON.stringify(states, null, 2)}\n` : table(states));
    return 0;
  },
);

function table(states: readonly ExtensionState[]): string {
  if (states.length === 0) return 'no extensions\n';
  const rows = states.map(({ name, layer, status, display, reason }) => [
    name ?? '-',
    layer,
    status,
    reason === undefined ? display : `${display}  (${reason})`,
  ]);
  const header = ['NAME', 'LAYER', 'STATUS', 'WHERE'];
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [header, ...rows]
    .map((row) => row.map((cell, column) => (column === 3 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '))
    .map((line) => `${cleanLine(line)}\n`)
    .join('');
}
