// Durations and sizes as people write them in a config: "2.5s", "512MB".

/** Factor of each unit in milliseconds. */
const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/** Factor of each unit in bytes: MB are millions, MiB are 1024 * 1024. */
const SIZE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Node's timers hold 31 bits of milliseconds; a longer one would fire at once. */
const MAX_DURATION_MS = 2 ** 31 - 1;

export const DURATION_PATTERN = '^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$';
export const SIZE_PATTERN = '^[0-9]+(\\.[0-9]+)?(B|kB|KB|KiB|MB|MiB|GB|GiB)$';

/** Milliseconds, or what is wrong with the text. */
export function parseDuration(text: string): number | string {
  const value = parseWithUnit(text, DURATION_PATTERN, DURATION_UNITS);
  if (value === undefined) return 'a duration such as "2.5s", "500ms" or "10m"';
  return value > MAX_DURATION_MS ? 'a duration of at most "596h"' : value;
}

/** Bytes, or what is wrong with the text. */
export function parseSize(text: string): number | string {
  const value = parseWithUnit(text, SIZE_PATTERN, SIZE_UNITS);
  if (value === undefined) return 'a size such as "512MB" or "1GiB"';
  return Number.isSafeInteger(value) ? value : 'a size of at most "8000000GB"';
}

function parseWithUnit(text: string, pattern: string, units: Readonly<Record<string, number>>): number | undefined {
  if (!new RegExp(pattern).test(text)) return undefined;
  const unit = text.replace(/^[0-9.]+/, '');
  const value = Number.parseFloat(text) * units[unit]!;
  // Zero means "no limit": a tiny value must not become it.
  return value > 0 ? Math.max(1, Math.round(value)) : 0;
}
