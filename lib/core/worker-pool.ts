// Worker threads for native tools. The pool grows to its limit, further calls queue; a worker serves one call at a time and is
// used again. A call that does not stop when told to loses its worker; a worker that dies takes one call with it, no other.
import { Worker } from 'node:worker_threads';
import type { CallAbort } from './abort.js';
import { distUrl } from './package-root.js';
import { errorMessage, failure } from './results.js';
import type { CallContent, CallResult } from './types.js';
import type { FromWorker, RunRequest, ToWorker } from './worker-protocol.js';

/** How long `run` may take to return once its signal is aborted. */
const STOP_GRACE_MS = 500;

/** A tool that needs more than this has run away; without a limit it would take the machine with it. */
const MAX_HEAP_MB = 1024;

export interface PoolCall extends Omit<RunRequest, 'type'> {
  readonly signal: AbortSignal;
  onStart(): void;
  onUpdate(partial: CallContent): void;
}

interface Job {
  readonly call: PoolCall;
  settle(result: CallResult): void;
  end(): void;
}

export interface PoolOptions {
  /** The most threads that serve at once. */
  readonly limit: number;
  /** What tools write to their standard streams: the terminal and the protocols belong to the host. */
  readonly onOutput?: (tool: string, text: string) => void;
  readonly heapMb?: number;
}

export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #idle: PooledWorker[] = [];
  readonly #all = new Set<PooledWorker>();
  readonly #queue: Job[] = [];
  #disposed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * Runs one call. `result` never rejects; `ended` resolves when nothing of the call runs any more, which is later than the result
   * where a worker had to be terminated.
   */
  run(call: PoolCall): { readonly result: Promise<CallResult>; readonly ended: Promise<void> } {
    let settle: Job['settle'] = () => {};
    let end: Job['end'] = () => {};
    const result = new Promise<CallResult>((resolve) => {
      settle = resolve;
    });
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const job: Job = { call, settle, end };
    if (this.#disposed) {
      refuse(job, 'the agent has been closed');
    } else {
      this.#queue.push(job);
      call.signal.addEventListener('abort', () => this.#withdraw(job), { once: true });
      this.#serve();
    }
    return { result, ended };
  }

  /** Ends every thread and every call. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    for (const job of this.#queue.splice(0)) refuse(job, 'the agent has been closed');
    await Promise.all([...this.#all].map((worker) => worker.terminate('the agent has been closed')));
  }

  /** Takes a call that was aborted while it waited out of the queue. */
  #withdraw(job: Job): void {
    const index = this.#queue.indexOf(job);
    if (index < 0) return;
    this.#queue.splice(index, 1);
    const { kind, message } = job.call.signal.reason as CallAbort;
    job.settle(failure(kind, message, { where: job.call.tool }));
    job.end();
  }

  #serve(): void {
    while (this.#queue.length > 0) {
      const worker = this.#idle.pop() ?? (this.#all.size < this.#options.limit ? this.#start() : undefined);
      if (!worker) return;
      worker.serve(this.#queue.shift()!);
    }
  }

  #start(): PooledWorker {
    const worker = new PooledWorker(this.#options, {
      onIdle: () => {
        this.#idle.push(worker);
        this.#serve();
      },
      onGone: () => {
        this.#all.delete(worker);
        const index = this.#idle.indexOf(worker);
        if (index >= 0) this.#idle.splice(index, 1);
        if (!this.#disposed) this.#serve();
      },
    });
    this.#all.add(worker);
    return worker;
  }
}

class PooledWorker {
  readonly #thread: Worker;
  readonly #hooks: { onIdle(): void; onGone(): void };
  readonly #onOutput: PoolOptions['onOutput'];
  #job: Job | undefined;
  #gone = false;

  constructor({ heapMb = MAX_HEAP_MB, onOutput }: PoolOptions, hooks: { onIdle(): void; onGone(): void }) {
    this.#hooks = hooks;
    this.#onOutput = onOutput;
    this.#thread = new Worker(distUrl('core/worker'), {
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    for (const stream of [this.#thread.stdout, this.#thread.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => this.#onOutput?.(this.#job?.call.tool ?? '', text));
    }
    this.#thread.on('message', (message: FromWorker) => this.#receive(message));
    this.#thread.on('error', (error) => this.#die(error));
    this.#thread.on('exit', (code) => this.#die(new Error(`exited with code ${code}`)));
  }

  serve(job: Job): void {
    this.#job = job;
    this.#thread.ref();
    const { id, tool, module, input, cwd, signal } = job.call;
    job.call.onStart();
    this.#post({ type: 'run', id, tool, module, input, cwd });
    if (signal.aborted) this.#stop(job);
    else signal.addEventListener('abort', () => this.#stop(job), { once: true });
  }

  /** Settles its call first; the thread may take longer, it cannot be stopped inside a native function. */
  async terminate(reason: string): Promise<void> {
    const job = this.#job;
    this.#job = undefined;
    if (job) {
      const { signal, tool } = job.call;
      const abort = signal.aborted ? (signal.reason as CallAbort) : undefined;
      job.settle(failure(abort?.kind ?? 'cancelled', abort?.message ?? reason, { where: tool }));
    }
    this.#leave();
    await this.#thread.terminate();
    job?.end();
  }

  #receive(message: FromWorker): void {
    const job = this.#job;
    if (!job || message.id !== job.call.id) return;
    if (message.type === 'update') {
      job.call.onUpdate(message.partial);
      return;
    }
    this.#job = undefined;
    this.#thread.unref();
    job.settle(message.result);
    job.end();
    this.#hooks.onIdle();
  }

  #stop(job: Job): void {
    if (this.#job !== job) return;
    const { kind, message } = job.call.signal.reason as CallAbort;
    this.#post({ type: 'abort', kind, message });
    setTimeout(() => {
      if (this.#job === job) void this.terminate(message);
    }, STOP_GRACE_MS);
  }

  #die(error: Error): void {
    const job = this.#job;
    this.#job = undefined;
    const outOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    job?.settle(
      failure(outOfMemory ? 'out_of_memory' : 'failed', `its worker thread ended: ${errorMessage(error)}`, {
        where: job.call.tool,
      }),
    );
    job?.end();
    this.#leave();
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#hooks.onGone();
  }

  #post(message: ToWorker): void {
    this.#thread.postMessage(message);
  }
}

function refuse(job: Job, reason: string): void {
  job.settle(failure('cancelled', reason, { where: job.call.tool }));
  job.end();
}
