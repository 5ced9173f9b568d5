// The command line's one boundary: whatever happens below becomes one line on stderr and an exit status.
import { cleanLine } from '../ui/clean.js';
import { UsageError } from './args.js';
import { dispatch } from './dispatch.js';
import { guardProcess, leave } from './exit.js';
import { standardError } from './output.js';

/** Runs panto with these arguments (without node and script) and ends the process. */
export async function main(args: readonly string[]): Promise<void> {
  const debug = args.includes('--debug');
  const report = (error: unknown) => standardError().write(`${describe(error, debug)}\n`);
  guardProcess((message) => report(new Error(message)));
  // Also unhandled rejections. A fault of ours must still give the terminal back and end the children.
  process.on('uncaughtException', (error) => {
    report(error);
    void leave(1);
  });
  let status: number;
  try {
    status = await dispatch(args);
  } catch (error) {
    report(error);
    status = error instanceof UsageError ? 2 : 1;
  }
  await leave(status);
}

function describe(error: unknown, debug: boolean): string {
  if (error instanceof AggregateError) return error.errors.map((each) => describe(each, debug)).join('\n');
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof UsageError ? ' (panto --help)' : '';
  const trace = debug && error instanceof Error && error.stack ? `\n${error.stack}` : '';
  return `panto: ${cleanLine(message)}${hint}${trace}`;
}
