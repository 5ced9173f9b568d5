// Lua's own test suite, where it is: scripts/conformance/lua-suite runs it with `panto lua`.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../lib/core/package-root.js';

const run = promisify(execFile);
const script = join(packageRoot, 'scripts/conformance/lua-suite');
const suite = process.env.PANTO_LUA_TESTS;
if (!suite) console.warn('PANTO_LUA_TESTS is not set: the test suite of Lua 5.4.7 is skipped (docs/conformance.md)');

(suite ? test : test.skip)(
  'panto lua passes the test suite of Lua 5.4.7',
  async () => {
    const { stdout } = await run(script, { env: { ...process.env, PANTO_LUA_TESTS: suite } });
    expect(stdout.match(/^ok {6}.*$/gm)).toEqual([
      'ok      all.lua, portable mode: final OK',
      'ok      attrib.lua with C libraries: OK',
      'ok      main.lua, the stand-alone interpreter: OK',
    ]);
  },
  300_000,
);

test('without the suite the script says where to get it and does not fail', async () => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'PANTO_LUA_TESTS'));
  const { stdout, stderr } = await run(script, { env });
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^lua-suite: skipped: .*set PANTO_LUA_TESTS to testes\/ of .* tag v5\.4\.7\n$/);
});
