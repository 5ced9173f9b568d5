// When a failed request is tried again, and after what time. Pure but for the clock, which tests replace.
import type { ProviderError } from './errors.js';

/** Numbers are milliseconds. */
export interface RetryLimits {
  /** Tries after the first. */
  readonly retries: number;
  /** The first wait; it doubles from try to try. */
  readonly baseMs: number;
  /** The longest wait that panto chooses by itself. */
  readonly maxDelayMs: number;
  /** From the first try to the start of the last; a Retry-After beyond it is not waited for. */
  readonly totalMs: number;
}

/** About what the services' own clients do, but patient enough to sit out a minute's rate limit. */
export const defaultRetryLimits: RetryLimits = { retries: 8, baseMs: 1000, maxDelayMs: 30_000, totalMs: 300_000 };

const BRIEF_RETRIES = 2;

export interface Clock {
  /** Milliseconds since any fixed moment. */
  now(): number;
  /** Rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1. */
  random(): number;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal.addEventListener('abort', onAbort, { once: true });
    }),
};

/**
 * How long to wait before the next try, milliseconds; undefined: give up.
 * `tries` have failed so far, the last with `error`, `spentMs` after the first began.
 */
export function nextDelay(
  error: ProviderError,
  tries: number,
  spentMs: number,
  limits: RetryLimits,
  random: () => number,
): number | undefined {
  if (error.retry === 'no') return undefined;
  const retries = error.retry === 'briefly' ? Math.min(limits.retries, BRIEF_RETRIES) : limits.retries;
  if (tries > retries) return undefined;
  const asked = error.retryAfterMs ?? 0;
  // Half of it is jitter, so that many clients do not come back at the same moment; never earlier than asked.
  const own = Math.min(limits.maxDelayMs, limits.baseMs * 2 ** (tries - 1)) * (0.5 + random() / 2);
  const delay = asked > 0 ? asked + Math.min(1000, asked / 10) * random() : own;
  return spentMs + Math.max(asked, delay) > limits.totalMs ? undefined : delay;
}

/**
 * What the headers of an answer ask for: `retry-after-ms` (OpenAI), or `Retry-After` in seconds or as an HTTP-date
 * (RFC 9110 §10.2.3). Undefined where there is none or it cannot be read; never negative.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowEpochMs: number): number | undefined {
  const exact = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (Number.isFinite(exact)) return Math.max(0, exact);
  const value = headers['retry-after']?.trim() ?? '';
  if (value === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowEpochMs);
}
