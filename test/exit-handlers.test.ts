// The runtime in exit handlers of a program: calls that come too late are refused or never answered, but the process ends in order.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../lib/core/package-root.js';
import { testTree } from './lua-support.js';

function runProgram(program: string) {
  const text = `import { LuaRuntime } from ${JSON.stringify(pathToFileURL(join(packageRoot, 'out/lib/lua/runtime.js')).href)};
const start = () => LuaRuntime.start({ luaDir: ${JSON.stringify(join(packageRoot, 'lua'))}, luaPath: ${JSON.stringify(testTree.luaPath)},
  luaCpath: ${JSON.stringify(testTree.luaCpath)}, luvFile: ${JSON.stringify(testTree.luv)} });
${program}`;
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { status, signal, stdout, stderr };
}

test.each([
  ['before the runtime', "process.on('exit', use); const runtime = await start(); function use() {", 'pending'],
  ['after the runtime', "const runtime = await start(); process.on('exit', use); function use() {", 'refused'],
])('calls from an exit handler that was registered %s', (_, beginning, expected) => {
  const { status, stdout, stderr } = runProgram(`${beginning}
    let said = 'pending';
    const file = { path: '/no/such/file', dir: '/', display: 'x.lua' };
    runtime.evaluate(file).catch(() => {});
    try { runtime.source.invokeBatch([{ id: 'a', toolName: 'x', owner: 'panto-lua', input: '{}', deadline: Infinity, update() {},
      signal: new AbortController().signal }], { session: '', turn: 1, cwd: '/', serial: false, started() {}, settled() {} })
        .catch(() => {}); } catch { said = 'refused'; }
    runtime.shutdown(100);
    runtime.shutdown(100);
    process.stdout.write(said);
  }
  process.exit(7);`);
  expect({ status, stderr }).toEqual({ status: 7, stderr: '' });
  expect(['pending', 'refused']).toContain(stdout);
  if (expected === 'pending') expect(stdout).toBe('pending');
});

test('a runtime can be started again after it has been shut down, and a process may end while one starts', () => {
  const again = runProgram(`for (let i = 0; i < 5; i++) (await start()).shutdown(2000);
    console.log('five');`);
  expect(again).toMatchObject({ status: 0, stdout: 'five\n', stderr: '' });
  expect(runProgram('void start(); process.exit(7);').status).toBe(7);
  expect(runProgram("void start(); setImmediate(() => { throw new Error('on purpose'); });").status).toBe(1);
});
