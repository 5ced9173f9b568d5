// Where the package lies on disk, and where its built entry points are.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

function findPackageRoot(start: string): string {
  for (let dir = start; ; dir = dirname(dir)) {
    if (existsSync(join(dir, 'package.json'))) return dir;
    if (dirname(dir) === dir) throw new Error(`panto: no package.json above ${start}`);
  }
}

/** The folder that holds panto's package.json, absolute. */
export const packageRoot: string = findPackageRoot(dirname(fileURLToPath(import.meta.url)));

/** URL of a built module, named as in `lib/` without its ending: `distUrl('tools/read')`. */
export function distUrl(entry: string): URL {
  return pathToFileURL(join(packageRoot, 'dist', `${entry}.js`));
}
