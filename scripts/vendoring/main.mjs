// The command line of scripts/vendor. Status 0: all sources are in place; 1: one is not; 2: bad usage.
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { vendor } from './vendor.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const usage = `usage: scripts/vendor [--dir DIR] [--pins FILE] [--timeout SECONDS]

Puts every source of the pins file into DIR/<name>, verified by sha256.
  --dir DIR          default: vendor/ of the repository
  --pins FILE        default: vendor/pins.json of the repository
  --timeout SECONDS  an origin that is silent for so long is given up; default 10`;

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        dir: { type: 'string', default: join(root, 'vendor') },
        pins: { type: 'string', default: join(root, 'vendor/pins.json') },
        timeout: { type: 'string', default: '10' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (!(Number(values.timeout) > 0)) throw new Error(`--timeout ${values.timeout}: a number of seconds is expected`);
    return values;
  } catch (error) {
    console.error(`vendor: ${error.message}\n${usage}`);
    process.exit(2);
  }
}

const options = readArguments();
if (options.help) {
  console.log(usage);
} else {
  const problems = await vendor({
    dir: resolve(options.dir),
    pinsFile: resolve(options.pins),
    timeoutMs: Number(options.timeout) * 1000,
    print: (line) => console.log(`vendor: ${line}`),
  });
  for (const problem of problems) console.error(`vendor: ${problem}`);
  // Not process.exit(): what was printed into a pipe has to get out.
  process.exitCode = problems.length > 0 ? 1 : 0;
}
