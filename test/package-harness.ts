// Packs a copy of the working tree as `npm pack` does, and installs it as a user does: a prefix and a home of its own.
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import type { Finished } from './cli-support.js';

const LIMIT_MS = 10 * 60_000;

export interface PackedFile {
  readonly path: string;
  readonly size: number;
}

export class PackageHarness {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'panto-package-')));
  readonly home = join(this.root, 'home');
  readonly prefix = join(this.root, 'prefix');
  readonly project = join(this.root, 'project');
  readonly #bin = join(this.root, 'bin');
  /** What `npm pack` says is in the package. */
  readonly files: readonly PackedFile[];
  readonly tarball: string;
  /** What npm printed when the package was installed. */
  readonly installed: Finished;

  constructor() {
    for (const folder of [this.home, this.project, this.#bin]) mkdirSync(folder);
    const stage = join(this.root, 'stage');
    copyWorkTree(stage);
    const packed = this.#npm(stage, 'pack', '--json', '--pack-destination', this.root);
    const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: PackedFile[] }];
    this.files = files;
    this.tarball = join(this.root, filename);
    rmSync(stage, { recursive: true });
    // No compiler, make or Python: only Node and what commands of the model need.
    symlinkSync(process.execPath, join(this.#bin, 'node'));
    for (const name of ['bash', 'sh', 'cat', 'ls', 'env']) symlinkSync(findProgram(name), join(this.#bin, name));
    const install = ['install', '--global', '--ignore-scripts', '--prefix', this.prefix, this.tarball];
    this.installed = this.#npm(this.project, ...install);
  }

  /** The folder that npm made. */
  get packageDir(): string {
    return join(this.prefix, 'lib/node_modules/panto');
  }

  /** Runs the installed command. */
  panto(args: readonly string[], env: Record<string, string> = {}): Finished {
    return run(join(this.prefix, 'bin/panto'), args, this.project, { ...this.env, ...env });
  }

  get env(): Record<string, string> {
    return { PATH: this.#bin, HOME: this.home, LANG: 'C.UTF-8' };
  }

  /** The PATH of the machine, with its compiler. */
  get compilerPath(): string {
    return `${this.#bin}:${process.env.PATH}`;
  }

  dispose(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  /** npm with the machine's settings for registry and certificates and its cache, and a home without any. */
  #npm(cwd: string, ...args: string[]): Finished {
    const cache = process.env.npm_config_cache ?? join(process.env.HOME ?? this.home, '.npm');
    const settings = {
      npm_config_cache: cache,
      npm_config_prefer_offline: 'true',
      npm_config_update_notifier: 'false',
    };
    const isSetting = (name: string) =>
      /^(npm_config_(?!prefix)|https?_proxy$|no_proxy$|NODE_EXTRA_CA_CERTS$)/i.test(name);
    const kept = Object.entries(process.env).filter(([name]) => isSetting(name)) as [string, string][];
    const env = { ...Object.fromEntries(kept), ...settings, HOME: this.home, PATH: process.env.PATH ?? '' };
    const finished = run(findProgram('npm'), args, cwd, env);
    if (finished.status !== 0) throw new Error(`npm ${args.join(' ')}: ${finished.stdout}${finished.stderr}`);
    return finished;
  }
}

export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string | undefined>,
): Finished {
  const { status, signal, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: env as NodeJS.ProcessEnv,
    encoding: 'utf8',
    input: '',
    timeout: LIMIT_MS,
    maxBuffer: 1 << 28,
  });
  if (error) throw error;
  return { status, signal, stdout, stderr };
}

/** Packing builds dist/ anew, which the other tests run from; so it happens in a copy. The addon is taken along where it is built. */
function copyWorkTree(stage: string): void {
  const left = new Set(['.git', '.cache', 'node_modules', 'build', 'dist', 'out', 'prebuilds']);
  cpSync(packageRoot, stage, {
    recursive: true,
    dereference: true,
    filter: (path) => !left.has(relative(packageRoot, path).split(sep)[0] ?? ''),
  });
  symlinkSync(realpathSync(join(packageRoot, 'node_modules')), join(stage, 'node_modules'));
  for (const file of ['.cache/addon.json', 'build/Release/panto.node']) {
    mkdirSync(dirname(join(stage, file)), { recursive: true });
    try {
      copyFileSync(join(packageRoot, file), join(stage, file));
    } catch {
      // Then it is built.
    }
  }
}

function findProgram(name: string): string {
  const { stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
  if (stdout === '') throw new Error(`${name} is not on the PATH`);
  return realpathSync(stdout.trim());
}

export function readJson(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
}
