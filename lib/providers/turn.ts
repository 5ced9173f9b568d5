// Drives one turn over a surface: asks, streams, tries again while nothing has been shown, ends at once on abort.
import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import type { Provider, TurnEvent, TurnRequest } from '../core/types.js';
import { Answer } from './answer.js';
import { isRecord } from './error-text.js';
import { describeFailure, type Endpoint, endedEarly, failure, gaveUp, type ProviderError } from './errors.js';
import { origin } from './prompt.js';
import { type Clock, nextDelay, type RetryLimits } from './retry.js';
import type { Surface } from './surface.js';

export interface RetryNotice {
  /** How many tries have failed. */
  readonly tries: number;
  readonly delayMs: number;
  readonly error: ProviderError;
}

export interface TurnSettings {
  readonly retry: RetryLimits;
  readonly clock: Clock;
  /** Told before each wait, so that somebody can say why nothing happens. */
  readonly onRetry?: (notice: RetryNotice) => void;
}

/** Rejects with the signal's reason on abort, with a ProviderError otherwise. */
export function turnProvider(id: string, surface: Surface, endpoint: Endpoint, settings: TurnSettings): Provider {
  return {
    id,
    async *stream(request, signal) {
      const { clock, retry, onRetry } = settings;
      const began = clock.now();
      for (let tries = 1; ; tries++) {
        let shown = false;
        try {
          for await (const event of oneTry(surface, endpoint, request, signal)) {
            shown = true;
            yield event;
          }
          return;
        } catch (thrown) {
          signal.throwIfAborted();
          const error = describeFailure(thrown, endpoint);
          if (shown) throw error;
          const spentMs = clock.now() - began;
          const delayMs = nextDelay(error, tries, spentMs, retry, clock.random);
          if (delayMs === undefined) throw gaveUp(error, tries, spentMs, retry.totalMs);
          onRetry?.({ tries, delayMs, error });
          await clock.sleep(delayMs, signal);
        }
      }
    },
  };
}

async function* oneTry(
  surface: Surface,
  endpoint: Endpoint,
  request: TurnRequest,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, void> {
  signal.throwIfAborted();
  const abort = new AbortController();
  const onAbort = () => abort.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  // The packages may be slow to notice; the turn is not.
  const aborted = new Promise<never>((_, reject) => {
    abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true });
  });
  aborted.catch(() => {});
  let reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart> | undefined;
  try {
    const asked = surface.model.doStream({ ...surface.callOptions(request), abortSignal: abort.signal });
    const { stream, response } = await Promise.race([asked, aborted]);
    reader = stream.getReader();
    const answer = new Answer(origin(endpoint.provider, endpoint.model), (name) =>
      surface.emptyInput(request.tools.find((tool) => tool.name === name)),
    );
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), aborted]);
      // What was already on its way when the turn was aborted is not shown.
      signal.throwIfAborted();
      if (done) break;
      if (value.type === 'error') {
        if (isUnknownEvent(value.error) || isEndWithoutReason(value.error)) continue;
        throw value.error;
      }
      const event = answer.accept(value);
      if (event) yield event;
    }
    const finished = answer.finished;
    if (!finished || (finished.unified === 'error' && finished.raw === undefined))
      throw endedEarly(endpoint, response?.headers?.['content-type']);
    // OpenRouter and DeepSeek report a failure of the service behind them as a reason to stop.
    if (finished.raw === 'error' || finished.raw === 'insufficient_system_resource') {
      throw failure(endpoint, 'the service stopped in the middle of the answer', { retry: 'yes' });
    }
    yield* answer.end();
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Ends the request also when the reader of our events stopped early.
    abort.abort();
    reader?.cancel().catch(() => {});
  }
}

const ANTHROPIC_EVENTS = /^(ping|error|message_(start|delta|stop)|content_block_(start|delta|stop))$/;

/** Anthropic may add kinds of events at any time and wants them ignored; the package takes them for errors. */
function isUnknownEvent(error: unknown): boolean {
  if (!isRecord(error) || error.name !== 'AI_TypeValidationError' || !isRecord(error.value)) return false;
  const { type } = error.value;
  return typeof type === 'string' && !ANTHROPIC_EVENTS.test(type);
}

/** How the OpenAI package reports an answer that was cut off; the finish after it says so too. */
function isEndWithoutReason(error: unknown): boolean {
  return isRecord(error) && error.name === 'AI_InvalidResponseDataError' && error.data === undefined;
}
