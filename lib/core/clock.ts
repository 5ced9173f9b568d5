// The one clock of all stamps: milliseconds since the epoch, monotonic within a process, the same on every thread.

/** `performance.timeOrigin + performance.now()`. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
