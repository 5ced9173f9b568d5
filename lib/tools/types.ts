// The two sides of a native tool's `run`, named once for all tools.
import type { CallContent, NativeRun } from '../core/types.js';

export type NativeCall = Parameters<NativeRun>[1];
export type NativeResult = Exclude<Awaited<ReturnType<NativeRun>>, CallContent>;

/** What to say about a call whose signal fired: its deadline or its user. */
export function stopWord(signal: AbortSignal): 'timed out' | 'aborted' {
  const reason: unknown = signal.reason;
  const name = typeof reason === 'object' && reason !== null && 'name' in reason ? reason.name : reason;
  return name === 'timeout' || name === 'TimeoutError' ? 'timed out' : 'aborted';
}

/** Throws one clear line if the call has been cancelled: a tool calls it before a step that changes something. */
export function checkStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new Error(stopWord(signal));
}
