// Answers the questions of lua/panto/runtime/host_calls.lua. A question may be withdrawn while it is open.
import { Locks } from '../core/locks.js';
import type { Json } from '../core/types.js';

/** Runs `run` alone among all that use `name`; an abort of `signal` ends the waiting. `Agent.lock` is one. */
export type LockRunner = (
  name: string,
  run: () => Promise<void>,
  options: { readonly signal: AbortSignal },
) => Promise<void>;

export interface Question {
  readonly id: number;
  readonly kind: string;
  readonly arguments: Json;
}

export type Answer = { readonly id: number; readonly value: Json } | { readonly id: number; readonly error: string };

export class HostCalls {
  readonly #answer: (answer: Answer) => void;
  readonly #open = new Map<number, AbortController>();
  readonly #held = new Map<number, () => void>();
  #lock: LockRunner;

  constructor(answer: (answer: Answer) => void) {
    this.#answer = answer;
    const locks = new Locks();
    this.#lock = (name, run, { signal }) => locks.hold(name, run, signal);
  }

  /** From now on locks are taken in the table of somebody else: the agent's. */
  useLocks(lock: LockRunner): void {
    this.#lock = lock;
  }

  ask({ id, kind, arguments: argument }: Question): void {
    const controller = new AbortController();
    this.#open.set(id, controller);
    this.#run(id, kind, argument, controller.signal).catch((error: Error) => {
      if (this.#open.delete(id)) this.#answer({ id, error: error.message });
    });
  }

  /** The task that asked has been cancelled. */
  withdraw(id: number): void {
    this.#open.get(id)?.abort(new Error('withdrawn'));
    this.#open.delete(id);
    this.unlock(id);
  }

  unlock(id: number): void {
    this.#held.get(id)?.();
    this.#held.delete(id);
  }

  async #run(id: number, kind: string, argument: Json, signal: AbortSignal): Promise<void> {
    if (kind !== 'lock') throw new Error(`the host has no answer to ${kind}`);
    await this.#lock(argument as string, () => this.#holdLock(id), { signal });
  }

  /** Tells the task that it has the lock; resolves when it gives it back. */
  #holdLock(id: number): Promise<void> {
    return new Promise((release) => {
      if (!this.#open.delete(id)) return release();
      this.#held.set(id, release);
      this.#answer({ id, value: id });
    });
  }
}
