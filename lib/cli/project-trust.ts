// Whether the project's own .panto/ is used: it was trusted before, is trusted now by --trust or by the person's answer, or is
// left alone, and that is said.
import type { PantoPaths } from '../config/paths.js';
import { type TrustReport, trustProject, trustState } from '../extensions/trust.js';
import { cleanLine } from '../ui/clean.js';
import type { Notify } from './notice.js';

export interface TrustOptions {
  /** --trust */
  readonly trust: boolean;
  /** Asks the person; absent where nobody can be asked. */
  readonly askTrust?: ((report: TrustReport) => Promise<boolean>) | undefined;
  readonly notify: Notify;
}

/** @throws Error with one line where --trust cannot be done */
export async function isProjectTrusted(
  options: TrustOptions & { paths: PantoPaths; root: string; home: string | undefined },
): Promise<boolean> {
  const store = { stateDir: options.paths.stateDir, home: options.home };
  const report = await trustState(options.root, store);
  if (report.state === 'trusted' || report.state === 'nothing') return true;
  if (report.digest === undefined) {
    if (options.trust) await trustProject(report, store);
    const message = `this project's .panto/ is not evaluated: ${report.problem}`;
    options.notify({ level: 'warning', message });
    return false;
  }
  if (options.trust || (await options.askTrust?.(report))) {
    await trustProject(report, store).catch((error: Error) =>
      options.notify({ level: 'warning', message: error.message }),
    );
    return true;
  }
  const why = report.state === 'changed' ? 'changed since it was trusted' : 'not trusted';
  const contents = report.contents.map(cleanLine).join(', ');
  options.notify({ level: 'warning', message: `not evaluated: ${contents} (${why}; --trust trusts this project)` });
  return false;
}
