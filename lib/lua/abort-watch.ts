// Listens to the signals of calls, away from the path that a call takes. In Node, adding and removing a listener of a fresh
// AbortSignal costs more than a short call does, and so does reading its `aborted`. So a call is listened to only once it has
// been open for a moment, and the listeners of settled calls are removed together later. An abort that comes before is seen then.

/** How long an abort may go unseen, in milliseconds. */
const watchAfterMs = 20;

export interface Abortable {
  readonly signal: AbortSignal;
  /** Nothing can be aborted any more. */
  readonly isSettled: boolean;
  /** Called once, when the signal has been aborted while the call was open. The name by which signals call objects. */
  handleEvent(): void;
}

export class AbortWatch {
  readonly #watched = new Set<Abortable>();
  #added: Abortable[] = [];
  #settled: Abortable[] = [];
  #armed = false;

  /** Watches this call until it has settled. */
  add(call: Abortable): void {
    this.#added.push(call);
    this.#arm();
  }

  /** A call that was added has settled. */
  settled(call: Abortable): void {
    if (!this.#watched.delete(call)) return;
    this.#settled.push(call);
    this.#arm();
  }

  #arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    // What keeps the process alive is the open calls, not this.
    setTimeout(() => this.#update(), watchAfterMs).unref();
  }

  #update(): void {
    this.#armed = false;
    const [added, settled] = [this.#added, this.#settled];
    this.#added = [];
    this.#settled = [];
    for (const call of settled) call.signal.removeEventListener('abort', call);
    for (const call of added) if (!call.isSettled) this.#watch(call);
  }

  #watch(call: Abortable): void {
    if (call.signal.aborted) {
      call.handleEvent();
      return;
    }
    call.signal.addEventListener('abort', call, { once: true });
    this.#watched.add(call);
  }
}
