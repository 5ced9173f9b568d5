// Measures one row in a process of its own, so that no row finds what another one left behind: run-row.js NAME OPTIONS.
// Prints the outcome as JSON.
import type { RunOptions } from './row.js';
import { rows } from './rows/index.js';

const [name, options] = process.argv.slice(2);
const row = rows.find((candidate) => candidate.name === name);
if (row === undefined || options === undefined) throw new Error('run-row.js NAME OPTIONS');
console.log(JSON.stringify(await row.run(JSON.parse(options) as RunOptions)));
