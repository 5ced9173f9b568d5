// A plain Node program that uses the Lua runtime and ends as its arguments say; test/exit-runs.ts starts it.
// Arguments: the extension, how to end, how many calls.
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import { LuaRuntime } from '../lib/lua/runtime.js';
import { treeAt } from '../lib/rocks/index.js';

const [extension = '', ending = '', count = '1'] = process.argv.slice(2);
const tree = treeAt(process.env.PANTO_HOME ?? '');

const runtime = await LuaRuntime.start({
  luaDir: join(packageRoot, 'lua'),
  luaPath: tree.luaPath,
  luaCpath: tree.luaCpath,
  luvFile: tree.luv,
});
for (const entry of await runtime.evaluate({ path: extension, dir: 'none', display: 'extensions/hold.lua' })) {
  await runtime.activate(entry.id);
}
const cancelling = new AbortController();
const told = new Set<number>();
let allHold = () => {};
const holding = new Promise<void>((resolve) => {
  allHold = resolve;
});
const calls = Array.from({ length: Number(count) }, (_, i) => ({
  id: `call_${i}`,
  toolName: 'hold',
  owner: 'panto-lua',
  input: '{}',
  signal: cancelling.signal,
  deadline: Number.POSITIVE_INFINITY,
  update() {
    told.add(i);
    if (told.size === Number(count)) allHold();
  },
}));
const batch = runtime.source.invokeBatch(calls, {
  session: '',
  turn: 1,
  cwd: process.cwd(),
  serial: false,
  started() {},
  settled() {},
});
await holding;
process.on('SIGTERM', () => process.exit(143));
process.on('SIGINT', () => process.exit(130));
process.stdout.write('holding\n');

switch (ending) {
  case 'natural':
    cancelling.abort();
    await batch;
    break;
  case 'natural, disposed':
    await runtime.dispose();
    break;
  case 'exit':
    process.exit(7);
    break;
  case 'throw':
    setTimeout(() => {
      throw new Error('on purpose');
    });
    break;
  case 'reject':
    void Promise.reject(new Error('on purpose'));
    break;
  default:
    // A signal comes.
    setInterval(() => {}, 1000);
}
