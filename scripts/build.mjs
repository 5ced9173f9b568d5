// Builds dist/ (the bundle that ships) and out/ (every module, test and benchmark by itself; not with --dist-only).
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
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

const buildDist = () =>
  build({
    ...common,
    entryPoints: [...entries.filter((file) => modules.includes(file)), ...tools],
    outdir: join(root, 'dist'),
    outbase: join(root, 'lib'),
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    external: [...Object.keys(dependencies)],
    metafile: true,
    // The licences are in THIRD-PARTY-NOTICES.txt.
    legalComments: 'none',
    // Bundled CommonJS packages call require() for Node's own modules.
    banner: {
      js: "import { createRequire as pantoCreateRequire } from 'node:module';\nconst require = pantoCreateRequire(import.meta.url);",
    },
  });

const buildOut = async () =>
  build({
    ...common,
    entryPoints: [...modules, ...(await typescriptFiles('test')), ...(await typescriptFiles('bench'))],
    outdir: join(root, 'out'),
    outbase: root,
    bundle: false,
  });

/** For the notices: the folders of the packages that got into the bundle. */
async function recordBundledPackages({ inputs }) {
  const folders = Object.keys(inputs).flatMap(
    (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? [],
  );
  await mkdir(join(root, '.cache'), { recursive: true });
  const absolute = [...new Set(folders.map((folder) => resolve(folder)))].sort();
  await writeFile(join(root, '.cache/bundled-packages.json'), JSON.stringify(absolute, null, 2));
}

const outputs =
  process.argv[2] === '--dist-only'
    ? [['dist', buildDist]]
    : [
        ['dist', buildDist],
        ['out', buildOut],
      ];
await Promise.all(outputs.map(([name]) => rm(join(root, name), { recursive: true, force: true })));
const [{ metafile }] = await Promise.all(outputs.map(([, run]) => run()));
await recordBundledPackages(metafile);

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
