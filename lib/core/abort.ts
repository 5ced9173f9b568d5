// Ending work early: the reason that an aborted call carries, and waiting that ends with a signal.

/**
 * The `reason` of an aborted call's signal. Its name follows the platform's: `AbortError` for a cancelled call,
 * `TimeoutError` for one past its deadline.
 */
export class CallAbort extends Error {
  readonly kind: 'cancelled' | 'timeout';

  constructor(kind: 'cancelled' | 'timeout', message: string = kind === 'timeout' ? 'timed out' : 'cancelled') {
    super(message);
    this.kind = kind;
    this.name = kind === 'timeout' ? 'TimeoutError' : 'AbortError';
  }
}

/**
 * The outcome of `work`, or a rejection with CallAbort once `signal` has been aborted for `graceMs`. The work itself goes on
 * unobserved: whoever runs it has the signal too.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal, graceMs = 0): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUp = () => reject(new CallAbort('cancelled'));
    const onAbort = () => {
      if (graceMs > 0) timer = setTimeout(giveUp, graceMs);
      else giveUp();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  });
}
