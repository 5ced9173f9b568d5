// `--output jsonl`: every event of a session as one JSON object a line. Times are milliseconds since the session began.
import { toResultPart } from '../core/results.js';
import type { AgentEvent } from '../core/types.js';

export type JsonLine = { readonly type: string } & Record<string, unknown>;

/** The line for an event. `startedAt`: when the session began, on the clock of the events (milliseconds since the epoch). */
export function toJsonLine(event: AgentEvent, startedAt: number): JsonLine {
  const since = (at: number) => Math.round((at - startedAt) * 1000) / 1000;
  switch (event.type) {
    case 'tool_call':
    case 'tool_update': {
      const { at, ...rest } = event;
      return { ...rest, at_ms: since(at) };
    }
    case 'tool_result': {
      const { id, name, result, startedMs, endedMs } = event;
      return {
        ...toResultPart(id, name, result),
        ...(result.ok && result.display !== undefined ? { display: result.display } : {}),
        ...(result.ok ? {} : { error: result.error }),
        started_ms: since(startedMs),
        ended_ms: since(endedMs),
      };
    }
    default:
      return event;
  }
}
