import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';

test('the package root is the folder of the package.json named panto', () => {
  const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { name: string };
  expect(manifest.name).toBe('panto');
});

test('the build ships the headers that C rocks are compiled against', () => {
  for (const header of ['lua.h', 'luaconf.h', 'lualib.h', 'lauxlib.h', 'uv.h', 'uv/unix.h']) {
    expect([header, existsSync(join(packageRoot, 'dist/tree/include', header))]).toEqual([header, true]);
  }
});
