// The entry of a worker thread: imports a native tool's module and runs its calls, one at a time. Runs on the worker.
import { parentPort } from 'node:worker_threads';
import { CallAbort } from './abort.js';
import { failure, isCallContent, toCallError } from './results.js';
import type { CallContent, CallResult, Json, NativeRun } from './types.js';
import type { FromWorker, RunRequest, ToWorker } from './worker-protocol.js';

let running: AbortController | undefined;
let lastTool = '';

// The terminal and the protocols on the standard streams belong to the host. (Reading the thread's own streams there would keep the
// process alive.)
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    post({ type: 'output', tool: lastTool, text });
    const callback = typeof encoding === 'function' ? encoding : done;
    if (typeof callback === 'function') queueMicrotask(() => callback());
    return true;
  };
}

parentPort?.on('message', (message: ToWorker) => {
  if (message.type === 'abort') running?.abort(new CallAbort(message.kind, message.message));
  else void serve(message);
});

async function serve(request: RunRequest): Promise<void> {
  const { id, tool } = request;
  const controller = new AbortController();
  running = controller;
  lastTool = tool;
  const update = (partial: CallContent) => {
    if (running === controller) post({ type: 'update', id, partial });
  };
  const result = await run(request, controller.signal, update);
  running = undefined;
  try {
    post({ type: 'done', id, result });
  } catch (error) {
    // What cannot be cloned to the other thread, a function in `details` say.
    post({ type: 'done', id, result: { ok: false, error: toCallError(error, tool) } });
  }
}

/** The one place where what a native tool throws becomes a result. */
async function run(
  { id, tool, module, input, cwd }: RunRequest,
  signal: AbortSignal,
  update: (partial: CallContent) => void,
): Promise<CallResult> {
  try {
    const exported: { run?: NativeRun } = await import(module);
    if (typeof exported.run !== 'function') {
      return failure('failed', `its module ${module} exports no function "run"`, { where: tool });
    }
    const value = await exported.run(JSON.parse(input) as Json, { id, cwd, signal, update });
    const result = toResult(value, tool);
    // The signal came first: the call was stopped, whatever the tool made of it.
    return signal.aborted ? aborted(tool, signal, result.ok ? result.content : undefined) : result;
  } catch (error) {
    return signal.aborted ? aborted(tool, signal) : { ok: false, error: toCallError(error, tool) };
  }
}

function toResult(value: Awaited<ReturnType<NativeRun>>, tool: string): CallResult {
  if (isCallContent(value)) return { ok: true, content: value };
  if (isCallContent(value?.content)) return { ok: true, ...value };
  return failure('failed', '"run" returned neither content nor { content }', { where: tool });
}

function aborted(tool: string, signal: AbortSignal, partial?: CallContent): CallResult {
  const { kind, message } = signal.reason as CallAbort;
  return failure(kind, message, { where: tool, partial });
}

function post(message: FromWorker): void {
  parentPort?.postMessage(message);
}
