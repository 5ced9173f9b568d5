// A program for the bootstrap tests: one sync, its options as JSON in the first argument; prints {result, progress} as JSON, and
// each line of progress on stderr when it comes.
import { type SyncOptions, syncTree } from '../lib/rocks/index.js';

const progress: string[] = [];
const options = JSON.parse(process.argv[2] ?? '') as SyncOptions;
function onProgress(line: string): void {
  progress.push(line);
  console.error(line);
}
const result = await syncTree({ ...options, onProgress });
console.log(JSON.stringify({ result, progress }));
