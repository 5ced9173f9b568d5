// The fetch that the SDK packages use: it ends a request on which no byte moves for too long, and it does not follow
// redirects (that would hand the key to another host). Proxies (HTTPS_PROXY) are not supported yet.

export interface WireOptions {
  /** Milliseconds without a byte of the answer, its headers included. */
  readonly stallMs: number;
  /** The error that a stalled request ends with. */
  readonly stalled: () => Error;
}

/** A fetch whose requests abort with `stalled()`; everything else is Node's. */
export function watchedFetch({ stallMs, stalled }: WireOptions): typeof globalThis.fetch {
  return async (input, init) => {
    const abort = new AbortController();
    const outer = init?.signal ?? undefined;
    const onOuterAbort = () => abort.abort(outer?.reason);
    if (outer?.aborted) onOuterAbort();
    outer?.addEventListener('abort', onOuterAbort, { once: true });
    const release = () => outer?.removeEventListener('abort', onOuterAbort);

    /** The timer runs only while something is asked of the server: a slow reader is not a stalled server. */
    const watch = async <T>(wait: () => Promise<T>): Promise<T> => {
      const timer = setTimeout(() => abort.abort(stalled()), stallMs);
      try {
        return await wait();
      } catch (error) {
        // undici wraps the reason when a body is cut off by an abort.
        throw abort.signal.aborted ? abort.signal.reason : error;
      } finally {
        clearTimeout(timer);
      }
    };

    try {
      const response = await watch(() => fetch(input, { ...init, redirect: 'manual', signal: abort.signal }));
      if (response.body === null) {
        release();
        return response;
      }
      const reader = response.body.getReader();
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          try {
            const { done, value } = await watch(() => reader.read());
            if (!done) return controller.enqueue(value);
            release();
            controller.close();
          } catch (error) {
            release();
            // An errored stream drops what its readers have not taken yet, so a lost connection only ends it: the answer
            // is then incomplete, which turn.ts sees, and everything that came is shown before.
            if (abort.signal.aborted) controller.error(error);
            else controller.close();
          }
        },
        async cancel(reason) {
          release();
          await reader.cancel(reason);
        },
      });
      return new Response(body, response);
    } catch (error) {
      release();
      throw error;
    }
  };
}
