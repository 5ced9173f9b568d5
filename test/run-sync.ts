// A program for the bootstrap tests: one sync, its options as JSON in the first argument; prints {result, progress} as JSON.
import { type SyncOptions, syncTree } from '../lib/rocks/index.js';

const progress: string[] = [];
const options = JSON.parse(process.argv[2] ?? '') as SyncOptions;
const result = await syncTree({ ...options, onProgress: (line) => progress.push(line) });
console.log(JSON.stringify({ result, progress }));
