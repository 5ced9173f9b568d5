// scripts/build-test-rocks, which other tests take their C rocks from.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';

const script = join(packageRoot, 'scripts/build-test-rocks');
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'panto-test-rocks-'));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('the C rocks are built against the shipped headers and take Lua from their host', () => {
  execFileSync(script, [dir], { stdio: 'pipe' });
  for (const name of ['cjson', 'lpeg', 'lfs']) {
    const symbols = execFileSync('nm', ['-D', join(dir, `${name}.so`)], { encoding: 'utf8' });
    expect(symbols).toMatch(new RegExp(` T luaopen_${name}$`, 'm'));
    expect(symbols).toMatch(/ U lua_settop$/m);
    expect(symbols).not.toMatch(/ T lua_settop$/m);
  }
  const built = statSync(join(dir, 'lpeg.so')).mtimeMs;
  execFileSync(script, [dir], { stdio: 'pipe' });
  expect(statSync(join(dir, 'lpeg.so')).mtimeMs).toBe(built);
});

test('a header that cannot be compiled fails the script and names the rock', () => {
  for (const name of ['lua.h', 'luaconf.h', 'lauxlib.h']) writeFileSync(join(dir, name), '#error not these\n');
  const out = join(dir, 'out');
  const { status, stderr } = spawnSync(script, [out, '--include', dir], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^build-test-rocks: cjson: .*not these/m);
  expect(existsSync(join(out, 'cjson.so'))).toBe(false);
});
