// Builds build/Release/panto.node with node-gyp, unless it is there and made from the same sources. --force builds in any case.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = new URL('..', import.meta.url).pathname;
const addon = join(root, 'build/Release/panto.node');
const record = join(root, '.cache/addon.json');
const sha256 = (data) => createHash('sha256').update(data).digest('hex');

/** All that the addon is made from. Node-API is stable over Node's versions, so Node is not part of it. */
function sourcesHash() {
  const hash = createHash('sha256').update(process.platform + process.arch);
  const folders = ['native', 'vendor/lua/src', 'vendor/yyjson/src'];
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  );
  for (const file of [...files.sort(), join(root, 'binding.gyp')]) {
    hash.update(`${file.slice(root.length)}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/**
 * The headers of the Node that runs, where they lie beside it, so that nothing is downloaded. A folder that the caller named wins;
 * without either, node-gyp takes npm's `nodedir`, or downloads them.
 */
function nodeGypEnv() {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const isThere = existsSync(join(prefix, 'include/node/node_api.h'));
  return process.env.npm_config_nodedir || !isThere ? process.env : { ...process.env, npm_config_nodedir: prefix };
}

function isCurrent(sources) {
  try {
    const recorded = JSON.parse(readFileSync(record, 'utf8'));
    return recorded.sources === sources && recorded.addon === sha256(readFileSync(addon));
  } catch {
    return false;
  }
}

const lastLines = (text) => text.trimEnd().split('\n').slice(-60).join('\n');

const sources = sourcesHash();
if (process.argv[2] === '--force' || !isCurrent(sources)) {
  console.error('build-addon: compiling the addon');
  const args = ['exec', '--no', '--', 'node-gyp', 'rebuild', '--loglevel', 'error', '--jobs', 'max'];
  const { status, error, stdout, stderr } = spawnSync('npm', args, { cwd: root, encoding: 'utf8', env: nodeGypEnv() });
  if (status !== 0 || !existsSync(addon)) {
    console.error(
      `${lastLines(stdout + stderr)}\nbuild-addon: node-gyp failed${error ? `: ${error.message}` : ` with status ${status}`}`,
    );
    process.exit(1);
  }
  mkdirSync(dirname(record), { recursive: true });
  writeFileSync(record, JSON.stringify({ sources, addon: sha256(readFileSync(addon)) }));
}
