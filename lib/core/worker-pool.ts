// Worker threads for native tools. The pool grows to its limit, further calls queue; a worker serves one call at a time and is
// used again. A call that does not stop when told to loses its worker; a worker that dies takes one call with it, no other.
import { Worker } from 'node:worker_threads';
import { CallAbort } from './abort.js';
import { distUrl } from './package-root.js';
import { errorMessage, failure } from './results.js';
import type { CallContent, CallError, CallResult } from './types.js';
import type { FromWorker, RunRequest, ToWorker } from './worker-protocol.js';

/** How long `run` may take to return once its signal is aborted. */
const STOP_GRACE_MS = 500;

/** A tool that needs more than this has run away; without a limit it would take the machine with it. */
const MAX_HEAP_MB = 1024;

const CLOSED = 'the agent has been closed';

export interface PoolCall extends Omit<RunRequest, 'type'> {
  readonly signal: AbortSignal;
  onStart(): void;
  onUpdate(partial: CallContent): void;
  /** Called once, whatever happens. */
  onResult(result: CallResult): void;
}

interface Job {
  readonly call: PoolCall;
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
   * Runs one call. Resolves when nothing of it runs any more, which is later than its result where a worker had to be terminated.
   * Never rejects.
   */
  run(call: PoolCall): Promise<void> {
    return new Promise((end) => {
      const job: Job = { call, end };
      if (this.#disposed) {
        refuse(job, 'cancelled', CLOSED);
        return;
      }
      this.#queue.push(job);
      call.signal.addEventListener('abort', () => this.#withdraw(job), { once: true });
      this.#serve();
    });
  }

  /** Ends every thread and every call. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    for (const job of this.#queue.splice(0)) refuse(job, 'cancelled', CLOSED);
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  /** Takes a call that was aborted while it waited out of the queue. */
  #withdraw(job: Job): void {
    const index = this.#queue.indexOf(job);
    if (index < 0) return;
    this.#queue.splice(index, 1);
    const { kind, message } = job.call.signal.reason as CallAbort;
    refuse(job, kind, message);
  }

  #serve(): void {
    while (this.#queue.length > 0) {
      if (this.#idle.length === 0 && this.#all.size >= this.#options.limit) return;
      const job = this.#queue.shift()!;
      try {
        const worker = this.#idle.pop() ?? this.#start();
        worker.serve(job);
      } catch (error) {
        refuse(job, 'failed', `no worker thread could be started: ${errorMessage(error)}`);
      }
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
      // The process's own flags may not fit a worker (`node --input-type=module -e …`).
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
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
  async terminate(): Promise<void> {
    const job = this.#job;
    this.#job = undefined;
    if (job) {
      const { signal, tool } = job.call;
      const { kind, message } = signal.aborted ? (signal.reason as CallAbort) : new CallAbort('cancelled', CLOSED);
      job.call.onResult(failure(kind, message, { where: tool }));
    }
    this.#leave();
    await this.#thread.terminate();
    job?.end();
  }

  #receive(message: FromWorker): void {
    if (message.type === 'output') {
      this.#onOutput?.(message.tool, message.text);
      return;
    }
    const job = this.#job;
    if (!job || message.id !== job.call.id) return;
    if (message.type === 'update') {
      job.call.onUpdate(message.partial);
      return;
    }
    this.#job = undefined;
    this.#thread.unref();
    job.call.onResult(message.result);
    job.end();
    this.#hooks.onIdle();
  }

  #stop(job: Job): void {
    if (this.#job !== job) return;
    const { kind, message } = job.call.signal.reason as CallAbort;
    this.#post({ type: 'abort', kind, message });
    setTimeout(() => {
      if (this.#job === job) void this.terminate();
    }, STOP_GRACE_MS);
  }

  #die(error: Error): void {
    const job = this.#job;
    this.#job = undefined;
    const outOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    job?.call.onResult(
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

function refuse(job: Job, kind: CallError['kind'], reason: string): void {
  job.call.onResult(failure(kind, reason, { where: job.call.tool }));
  job.end();
}
