// Reads the declaration of a native tool (`tools/NAME.mjs`: exports `tool` and `run`) without running its code on the main thread:
// importing it may loop, exit, print or exhaust its memory, and must cost no more than that tool. (V8 itself ends the process when one
// single allocation leaps far over a thread's limit; only a process of its own could contain that.)
import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Json, Tool } from '../core/types.js';

export interface NativeToolFile {
  /** Absolute. */
  readonly path: string;
  /** How messages call the file. */
  readonly display: string;
}

const HEAP_LIMIT_MB = 256;

/** The worker's whole program, an ES module; as text, so that it needs no file of its own in a bundle. */
const READER = `
import { parentPort, workerData } from 'node:worker_threads';
const describe = (thrown) => {
  if (thrown === null || typeof thrown !== 'object' || !('message' in thrown)) thrown = { message: thrown };
  const { name = 'Error', message, stack = '' } = thrown;
  return { kind: 'error', name: String(name), message: String(message), stack: String(stack) };
};
import(workerData)
  .then(({ tool, run }) => parentPort.postMessage({ kind: 'module', tool: JSON.stringify(tool), run: typeof run }))
  .catch((thrown) => parentPort.postMessage(describe(thrown)));`;

type Answer =
  | { kind: 'module'; tool: string | undefined; run: string }
  | { kind: 'error'; name: string; message: string; stack: string };

/**
 * Imports the file on a worker thread and checks what it exports.
 * @param timeLimitMs until when the import has to be done.
 * @throws Error whose message is one line, `file:line: cause` where the line is known.
 */
export async function readNativeTool(file: NativeToolFile, timeLimitMs = 5000): Promise<Tool> {
  const url = pathToFileURL(file.path);
  const answer = await importOnWorker(file, url, timeLimitMs);
  if (answer.kind === 'error') throw new Error(await describeFailure(file, url, answer));
  const fail = (cause: string): Error => new Error(`${file.display}: ${cause}`);
  if (answer.run !== 'function') throw fail('must export a function `run`');
  if (answer.tool === undefined) throw fail('must export an object `tool` with name, description and inputSchema');
  const declaration = JSON.parse(answer.tool) as Json;
  const problem = declarationProblem(declaration);
  if (problem !== undefined) throw fail(`the exported \`tool\` ${problem}`);
  return { ...(declaration as unknown as Omit<Tool, 'module'>), module: url };
}

function importOnWorker(file: NativeToolFile, url: URL, timeLimitMs: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // Its output is captured and dropped: stdout may carry a protocol.
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(READER)}`), {
      workerData: url.href,
      execArgv: [],
      stdin: true,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_LIMIT_MB },
    });
    const settle = (done: () => void): void => {
      clearTimeout(timer);
      done();
      void worker.terminate();
    };
    const fail = (cause: string): void => settle(() => reject(new Error(`${file.display}: ${cause}`)));
    const timer = setTimeout(() => fail(`importing it did not end within ${timeLimitMs} ms`), timeLimitMs);
    worker.once('message', (answer: Answer) => settle(() => resolve(answer)));
    worker.once('error', (error: NodeJS.ErrnoException) => {
      fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'importing it ran out of memory' : firstLine(String(error)));
    });
    worker.once('exit', (code) => fail(`importing it ended its thread (exit code ${code})`));
  });
}

/** What keeps the value from being a ToolDecl, as the rest of a sentence; undefined if it is one. */
function declarationProblem(tool: Json): string | undefined {
  if (!isObject(tool)) return 'must be an object';
  const { name, description, inputSchema, timeoutMs, guidelines, readOnly, locks } = tool;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    return `has no valid name: 1 to 64 of A-Z, a-z, 0-9, _ and -, not ${JSON.stringify(name)}`;
  }
  if (typeof description !== 'string') return 'needs a text `description`';
  if (!isObject(inputSchema)) return 'needs an object `inputSchema` (a JSON Schema)';
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
    return 'has a `timeoutMs` that is no number of milliseconds';
  }
  if (guidelines !== undefined && typeof guidelines !== 'string') return 'has `guidelines` that are no text';
  if (readOnly !== undefined && typeof readOnly !== 'boolean') return 'has a `readOnly` that is neither true nor false';
  if (locks !== undefined && !(Array.isArray(locks) && locks.every((lock) => typeof lock === 'string'))) {
    return 'has `locks` that are no list of JSON pointers';
  }
  return undefined;
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function describeFailure(file: NativeToolFile, url: URL, answer: Answer & { kind: 'error' }): Promise<string> {
  const cause = firstLine(`${answer.name === 'Error' ? '' : `${answer.name}: `}${answer.message}`);
  const at = answer.stack.indexOf(`${url.href}:`);
  let line = at < 0 ? undefined : /^\d+/.exec(answer.stack.slice(at + url.href.length + 1))?.[0];
  if (line === undefined && answer.name === 'SyntaxError') line = await lineOfSyntaxError(file.path);
  return `${file.display}${line === undefined ? '' : `:${line}`}: ${cause}`;
}

/** The error of a failed import does not say where; `node --check` does. */
function lineOfSyntaxError(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', path], { timeout: 5000, env: {} }, (_error, _stdout, stderr) => {
      resolve(/^.*:(\d+)$/m.exec(stderr)?.[1]);
    });
  });
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
