// Finds a C compiler and compiles luv with it. The environment is not the user's: CC, CFLAGS, CPATH and their like have no effect.
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { compilerAdvice, SyncFailure } from './failure.js';
import type { Tree } from './tree.js';

// luv.c includes the other sources, so one command is the whole build. Undefined lua_* and uv_* are found in the running node.
const commonFlags = ['-std=gnu99', '-O2', '-fPIC', '-pthread', '-D_GNU_SOURCE', '-DLUA_USE_DLOPEN'];
const linkFlags = process.platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : ['-shared'];
export const luvFlags: readonly string[] = [...commonFlags, ...linkFlags];

// What a compiler may need of the environment: where it and its parts lie (the last three: macOS and Nix).
const keptVariables = /^(PATH|HOME|LD_LIBRARY_PATH|SDKROOT|DEVELOPER_DIR|NIX_.*)$/;
const compileLimitMs = 5 * 60_000;
const maxOutput = 1 << 20;

/**
 * The first of cc, gcc and clang on the PATH.
 * @throws SyncFailure with what to install
 */
export function findCompiler(path = process.env.PATH ?? ''): string {
  // An empty or relative entry would run a program of whatever folder panto was started in.
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  const names = ['cc', 'gcc', 'clang'];
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
  if (found) return found;
  throw new SyncFailure(
    `no C compiler (${names.join(', ')}) on the PATH, and luv has to be compiled; ${compilerAdvice}`,
  );
}

/**
 * Compiles luv against the tree's headers.
 * @param sources luv's `src/`
 * @param workDir an existing empty folder of ours; the compiler's temporary files go there, too
 * @returns the path of the shared object, inside `workDir`
 * @throws SyncFailure with the first error of the compiler and the path of its whole output
 */
export async function compileLuv(
  compiler: string,
  tree: Tree,
  sources: string,
  workDir: string,
  signal?: AbortSignal,
): Promise<string> {
  const args = [...luvFlags, `-I${tree.include}`, '-o', 'luv.so', join(sources, 'luv.c')];
  const { status, output } = await run(compiler, args, workDir, signal);
  if (status === '0') return join(workDir, 'luv.so');
  if (signal?.aborted) throw new SyncFailure('interrupted while compiling luv');
  if (/No space left on device/.test(output)) {
    throw Object.assign(new Error('the compiler ran out of space'), { code: 'ENOSPC', path: workDir });
  }
  const firstError = firstErrorLine(output) ?? `it ended with ${status}`;
  // The stub of macOS, and a compiler without the C library's headers, assembler or linker.
  const isIncomplete = /xcode-select|fatal error: '?[a-z/]+\.h'?[ :]|cannot (find|execute) ['‘`]?(ld|as|cc1)\b/.test(
    output,
  );
  const log = writeLog(tree, [compiler, ...args], output);
  throw new SyncFailure(
    `compiling luv with ${compiler} failed: ${firstError}${isIncomplete ? `; the compiler is incomplete, ${compilerAdvice}` : ''}${log}`,
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The status is a number or a signal's name; the output is both streams, cut at `maxOutput`. */
function run(
  compiler: string,
  args: string[],
  workDir: string,
  signal: AbortSignal | undefined,
): Promise<{ status: string; output: string }> {
  const kept = Object.entries(process.env).filter(([name]) => keptVariables.test(name));
  const env = { ...Object.fromEntries(kept), LC_ALL: 'C', TMPDIR: workDir };
  return new Promise((resolve, reject) => {
    const child = spawn(compiler, args, {
      cwd: workDir,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: compileLimitMs,
      killSignal: 'SIGKILL',
      ...(signal && { signal }),
    });
    let output = '';
    const keep = (chunk: string) => {
      if (output.length < maxOutput) output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', (error) => {
      if (!signal?.aborted) return reject(error);
      // The compiler is dead; what it started ends by itself and is not waited for.
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ status: 'SIGKILL', output });
    });
    child.on('close', (code, killedBy) => resolve({ status: String(code ?? killedBy), output }));
  });
}

function firstErrorLine(output: string): string | undefined {
  const lines = output
    .replace(/[^\P{Cc}\n]/gu, ' ')
    .split('\n')
    .map((line) => line.trim());
  const line =
    lines.find((text) => /\berror\b|cannot find|undefined (symbol|reference)/i.test(text)) ?? lines.find(Boolean);
  return line && line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** What to append to the message; nothing where the log could not be written. */
function writeLog(tree: Tree, command: string[], output: string): string {
  const file = join(tree.privateDir, 'luv-build.log');
  try {
    writeFileSync(file, `${command.map((word) => JSON.stringify(word)).join(' ')}\n${output}`);
    return `; whole log: ${file}`;
  } catch {
    return '';
  }
}
