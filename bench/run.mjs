// npm run bench: starts the built benchmark (bench/main.ts), or says that it has not been built.
import { existsSync } from 'node:fs';

const built = new URL('../out/bench/main.js', import.meta.url);
if (!existsSync(built)) {
  console.error('bench: out/bench/main.js is missing: run `npm run build` first');
  process.exit(2);
}
const { main } = await import(built.href);
process.exitCode = await main(process.argv.slice(2));
