// From a pins file to unpacked sources: first every missing source is fetched and verified, then all are unpacked.
// A source is in place when its .origin.json names an origin (by hash) that the pins still list.
// What only a fetch needs is imported only then.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isInPlace } from './in-place.mjs';

/**
 * Puts the sources of `pinsFile` into `dir`.
 * @returns the problems, one line each; none means that everything is in place.
 */
export async function vendor({ dir, pinsFile, timeoutMs, print }) {
  let sources;
  try {
    sources = JSON.parse(readFileSync(pinsFile, 'utf8')).sources;
  } catch (error) {
    return [`${pinsFile}: ${error.message}`];
  }
  const missing = sources.filter((source) => !isInPlace(join(dir, source.name), source));
  if (missing.length === 0) {
    print(`all ${sources.length} sources are in place`);
    return [];
  }
  const outcomes = await Promise.all(missing.map((source) => fetchSource(source, timeoutMs)));
  const problems = outcomes.flatMap((outcome) => outcome.problems ?? []);
  if (problems.length > 0) return problems;
  const { place } = await import('./unpack.mjs');
  try {
    mkdirSync(dir, { recursive: true });
    removeLeftovers(dir);
    for (const { source, origin, content, from } of outcomes) {
      place(dir, source, origin, content, from);
      print(`${source.name} ${source.version} from ${from}`);
    }
    return [];
  } catch (error) {
    return [error.message];
  }
}

/** Tries the origins in order; unreachable ones are passed over, a wrong hash ends the search. */
async function fetchSource(source, timeoutMs) {
  const { fetchOrigin, nameOf, WrongHash } = await import('./origins.mjs');
  const failures = [];
  for (const origin of source.origins) {
    try {
      return { source, origin, ...(await fetchOrigin(origin, timeoutMs)) };
    } catch (error) {
      const line = `${source.name} ${source.version} from ${error.from ?? nameOf(origin)}: ${error.message}`;
      if (error instanceof WrongHash) return { problems: [line] };
      failures.push(line);
    }
  }
  return { problems: failures };
}

/** Staging folders carry the process id of the run that made them; those of runs that ended are rubbish. */
function removeLeftovers(dir) {
  for (const name of readdirSync(dir)) {
    const pid = /^\.staging-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(dir, name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
