// Which failures are tried again, and when.
import { ProviderError, type RetryAdvice } from './errors.js';
import { nextDelay, type RetryLimits, retryAfterMs, systemClock } from './retry.js';

const limits: RetryLimits = { retries: 5, baseMs: 1000, maxDelayMs: 6000, totalMs: 60_000 };
const failed = (retry: RetryAdvice, retryAfterMs?: number) =>
  new ProviderError('failed', { retry, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

test('waits double from try to try up to the longest, half of each left to chance', () => {
  const waits = (random: number) =>
    [1, 2, 3, 4, 5].map((tries) => nextDelay(failed('yes'), tries, 0, limits, () => random));
  expect(waits(0)).toEqual([500, 1000, 2000, 3000, 3000]);
  expect(waits(1)).toEqual([1000, 2000, 4000, 6000, 6000]);
});

test('the number of tries is limited, and what rarely heals gets two more', () => {
  const zero = () => 0;
  expect(nextDelay(failed('yes'), 6, 0, limits, zero)).toBeUndefined();
  expect(nextDelay(failed('briefly'), 2, 0, limits, zero)).toBe(1000);
  expect(nextDelay(failed('briefly'), 3, 0, limits, zero)).toBeUndefined();
  expect(nextDelay(failed('no'), 1, 0, limits, zero)).toBeUndefined();
});

test('no try begins after the time is up', () => {
  expect(nextDelay(failed('yes'), 1, 59_400, limits, () => 0)).toBe(500);
  expect(nextDelay(failed('yes'), 1, 59_600, limits, () => 0)).toBeUndefined();
});

test('a Retry-After is waited for beyond the longest own wait, never cut short, or not at all', () => {
  expect(nextDelay(failed('yes', 20_000), 1, 0, limits, () => 0)).toBe(20_000);
  expect(nextDelay(failed('yes', 20_000), 1, 0, limits, () => 0.5)).toBe(20_500);
  expect(nextDelay(failed('yes', 61_000), 1, 0, limits, () => 0)).toBeUndefined();
  expect(nextDelay(failed('yes', 0), 1, 0, limits, () => 0)).toBe(500);
});

test('Retry-After is read in seconds, milliseconds and as a date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const read = (headers: Record<string, string>) => retryAfterMs(headers, now);
  expect(read({ 'retry-after': '2' })).toBe(2000);
  expect(read({ 'retry-after': ' 1.5 ' })).toBe(1500);
  expect(read({ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' })).toBe(30_000);
  expect(read({ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' })).toBe(0);
  expect(read({ 'retry-after-ms': '250', 'retry-after': '9' })).toBe(250);
  expect(read({ 'retry-after': 'soon' })).toBeUndefined();
  expect(read({ 'retry-after': '' })).toBeUndefined();
  expect(read({})).toBeUndefined();
});

test('a wait ends with the reason of an abort, before it and during it', async () => {
  const abort = new AbortController();
  const waiting = systemClock.sleep(60_000, abort.signal);
  abort.abort(new Error('stop'));
  await expect(waiting).rejects.toThrow('stop');
  await expect(systemClock.sleep(60_000, abort.signal)).rejects.toThrow('stop');
});
