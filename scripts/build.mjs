// Builds dist/ (the bundle that ships) and out/ (every module, test and benchmark by itself).
import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { writeTreeManifest } from './tree-manifest.mjs';

const root = new URL('..', import.meta.url).pathname;

async function typescriptFiles(dir) {
  const entries = await readdir(join(root, dir), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

const { version, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const common = {
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  logLevel: 'warning',
  define: { PANTO_VERSION: JSON.stringify(version) },
};

const modules = await typescriptFiles('lib');
const isTest = (file) => file.endsWith('.test.ts');
// A tool is imported by path on a worker thread, so each is an entry point of its own.
const tools = modules.filter((file) => dirname(file) === join(root, 'lib/tools') && !isTest(file));
const entries = ['index', 'cli/main', 'cli/lua', 'core/worker'].map((name) => join(root, 'lib', `${name}.ts`));

await Promise.all([
  rm(join(root, 'dist'), { recursive: true, force: true }),
  rm(join(root, 'out'), { recursive: true, force: true }),
]);
await Promise.all([
  build({
    ...common,
    entryPoints: [...entries.filter((file) => modules.includes(file)), ...tools],
    outdir: join(root, 'dist'),
    outbase: join(root, 'lib'),
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    external: [...Object.keys(dependencies)],
    legalComments: 'external',
    // Bundled CommonJS packages call require() for Node's own modules.
    banner: {
      js: "import { createRequire as pantoCreateRequire } from 'node:module';\nconst require = pantoCreateRequire(import.meta.url);",
    },
  }),
  build({
    ...common,
    entryPoints: [...modules, ...(await typescriptFiles('test')), ...(await typescriptFiles('bench'))],
    outdir: join(root, 'out'),
    outbase: root,
    bundle: false,
  }),
]);

// What a bootstrap needs on the user's machine: Lua's and libuv's headers, and luv's sources.
const tree = join(root, 'dist/tree');
await mkdir(join(tree, 'include'), { recursive: true });
const headers = ['lua.h', 'luaconf.h', 'lualib.h', 'lauxlib.h', 'lua.hpp'];
await Promise.all([
  ...headers.map((name) => cp(join(root, 'vendor/lua/src', name), join(tree, 'include', name))),
  cp(join(root, 'vendor/uv/include'), join(tree, 'include'), { recursive: true }),
  cp(join(root, 'vendor/luv/src'), join(tree, 'luv/src'), { recursive: true }),
  cp(join(root, 'vendor/luv/LICENSE.txt'), join(tree, 'luv/LICENSE.txt')),
]);
await writeTreeManifest(tree, join(root, 'lib/rocks/batteries.json'));
