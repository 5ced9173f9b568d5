// Listens to the signals of calls, away from the path that a call takes. In Node, adding and removing a listener of a fresh
// AbortSignal costs more than a short call does, and so does reading its `aborted`. So a call is listened to only once it has
// been open for a moment, and the listeners of settled calls are removed together later. An abort that comes before is seen then.

/** How long an abort may go unseen, in milliseconds; longer only where very many calls are open. */
const watchAfterMs = 20;

/** At most that many listeners are added and removed at a time, so that neither results nor the terminal wait for it. */
const sliceSize = 128;
const nextSliceMs = 5;

export interface Abortable {
  readonly signal: AbortSignal;
  /** Nothing can be aborted any more. */
  readonly isSettled: boolean;
  /** The signal has been aborted; may come when the call has just settled. The name by which signals call objects. */
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
    this.#arm(watchAfterMs);
  }

  /** A call that was added has settled. */
  settled(call: Abortable): void {
    if (!this.#watched.delete(call)) return;
    this.#settled.push(call);
    this.#arm(watchAfterMs);
  }

  #arm(delayMs: number): void {
    if (this.#armed) return;
    this.#armed = true;
    // What keeps the process alive is the open calls, not this.
    setTimeout(() => this.#update(), delayMs).unref();
  }

  #update(): void {
    this.#armed = false;
    this.#added = this.#added.filter((call) => !call.isSettled);
    for (const call of this.#settled.splice(0, sliceSize)) call.signal.removeEventListener('abort', call);
    for (const call of this.#added.splice(0, sliceSize)) this.#watch(call);
    if (this.#added.length > 0 || this.#settled.length > 0) this.#arm(nextSliceMs);
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
