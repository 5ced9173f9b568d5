// Whether a source already lies where it belongs.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** By .origin.json, which is written before the folder gets its name, and by the files that the pins say it needs. */
export function isInPlace(target, source) {
  try {
    const origin = JSON.parse(readFileSync(join(target, '.origin.json'), 'utf8'));
    const isPinned = source.origins.some(({ sha256 }) => sha256 === origin.sha256);
    return (
      origin.version === source.version && isPinned && source.needs.every((file) => existsSync(join(target, file)))
    );
  } catch {
    return false;
  }
}
