// Errors of Lua code, as one line for people and as data for lib/core.
import type { CallError } from '../core/types.js';

/** What the native side sends for an error: JSON of a CallError. */
export function parseCallError(json: string): CallError {
  return JSON.parse(json) as CallError;
}

/** An error of Lua code. `message` is one line with its place; the traceback is in `detail`. */
export class LuaError extends Error {
  override readonly name = 'LuaError';
  readonly detail: CallError;

  constructor(detail: CallError, extension?: string) {
    const place = detail.where ?? extension;
    // What follows is detail, such as the places where require has looked.
    const line = detail.message.split('\n', 1)[0]!.replace(/:$/, '');
    super(place === undefined || line.startsWith(`${place}:`) ? line : `${place}: ${line}`);
    this.detail = detail;
  }
}
