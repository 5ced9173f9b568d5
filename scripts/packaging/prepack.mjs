// npm runs this before `npm pack` and `npm publish`: makes everything that the package holds and the repository does not. Whatever
// it prints goes to stderr, since stdout belongs to npm.
import { spawnSync } from 'node:child_process';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeNotices } from './notices.mjs';

const root = new URL('../..', import.meta.url).pathname;

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  console.error(`prepack: ${command} ${args.join(' ')}: ${error ? error.message : `status ${status}`}`);
  process.exit(1);
}

/** The addon for this platform, into prebuilds/. prebuildify strips the built file and moves it away, so the clone's own is kept. */
function prebuild() {
  const built = join(root, 'build/Release/panto.node');
  const kept = join(root, '.cache/panto.node');
  rmSync(join(root, 'prebuilds'), { recursive: true, force: true });
  run(process.execPath, 'scripts/build-addon.mjs');
  copyFileSync(built, kept);
  // In place of node-gyp a command that does nothing: the addon is built.
  const options = ['--napi', '--strip', '--node-gyp', 'true', '--target', process.versions.node, '--tag-libc'];
  run(process.execPath, 'node_modules/prebuildify/bin.js', ...options);
  renameSync(kept, built);
}

run(process.execPath, 'scripts/build.mjs', '--dist-only');
run(process.execPath, 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json');
writeNotices(root);
prebuild();
