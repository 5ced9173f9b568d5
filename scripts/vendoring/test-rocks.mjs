// The command line of scripts/build-test-rocks: fetches the rocks of vendor/test-pins.json as scripts/vendor does and compiles each
// with one command against a tree's headers. Status 0: all modules lie in DIR; 1: one does not; 2: bad usage.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { vendor } from './vendor.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const sourcesDir = join(root, '.cache/test-rocks');
const pinsFile = join(root, 'vendor/test-pins.json');
const usage = `usage: scripts/build-test-rocks DIR [--include DIR]

Builds cjson.so, lpeg.so (with re.lua) and lfs.so into DIR.
  --include DIR   Lua's headers; default: dist/tree/include, which is what a tree gets`;

const modules = [
  { name: 'cjson', folder: 'lua-cjson', sources: () => ['lua_cjson.c', 'strbuf.c', 'fpconv.c'] },
  { name: 'lpeg', folder: 'lpeg', sources: (folder) => readdirSync(folder).filter((name) => name.endsWith('.c')) },
  { name: 'lfs', folder: 'luafilesystem', sources: () => ['src/lfs.c'] },
];
const link = process.platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : ['-shared'];

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      options: { include: { type: 'string', default: join(root, 'dist/tree/include') } },
      allowPositionals: true,
    });
    if (positionals.length !== 1) throw new Error('one folder is expected');
    return { dir: resolve(positionals[0]), include: resolve(values.include) };
  } catch (error) {
    console.error(`build-test-rocks: ${error.message}\n${usage}`);
    process.exit(2);
  }
}

/** All that the modules are made from; the file that holds it is written last. */
function keyOf(include) {
  const hash = createHash('sha256');
  for (const file of [
    pinsFile,
    fileURLToPath(import.meta.url),
    ...['lua.h', 'luaconf.h', 'lauxlib.h'].map((name) => join(include, name)),
  ]) {
    hash.update(readFileSync(file));
  }
  return hash.digest('hex');
}

function isBuilt(keyFile, key) {
  try {
    return readFileSync(keyFile, 'utf8') === key;
  } catch {
    return false;
  }
}

async function compile({ name, folder, sources }, dir, include) {
  const from = join(sourcesDir, folder);
  const temporary = join(dir, `.${name}.so.${process.pid}`);
  const args = ['-O2', '-fPIC', ...link, `-I${include}`, '-o', temporary, ...sources(from)];
  await promisify(execFile)('cc', args, { cwd: from }).catch((error) => {
    const lines = (error.stderr || error.message).trim().split('\n');
    throw new Error(`${name}: ${lines.find((line) => /\berror\b/.test(line)) ?? lines[0]}`);
  });
  renameSync(temporary, join(dir, `${name}.so`));
}

async function build({ dir, include }) {
  const keyFile = join(dir, '.built');
  const key = keyOf(include);
  if (isBuilt(keyFile, key)) return;
  const print = (line) => console.error(`build-test-rocks: ${line}`);
  const problems = await vendor({ dir: sourcesDir, pinsFile, timeoutMs: 10_000, print });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  mkdirSync(dir, { recursive: true });
  for (const module of modules) await compile(module, dir, include);
  copyFileSync(join(sourcesDir, 'lpeg/re.lua'), join(dir, 're.lua'));
  writeFileSync(keyFile, key);
}

await build(readArguments()).catch((error) => {
  console.error(`build-test-rocks: ${error.message}`);
  process.exitCode = 1;
});
