// What a call's outcome looks like: making failures, and the one place where the text that the model sees of them is built.
import { CallAbort } from './abort.js';
import type { CallContent, CallError, CallResult, ToolResultPart } from './types.js';

export type Failure = CallResult & { ok: false };

/** A failed call. The message is made one line. */
export function failure(
  kind: CallError['kind'],
  message: string,
  more: { where?: string; traceback?: string; partial?: CallContent | undefined } = {},
): Failure {
  const { partial, ...rest } = more;
  return {
    ok: false,
    error: { kind, message: oneLine(message), ...rest },
    ...(partial === undefined ? {} : { partial }),
  };
}

/** The message of anything that was thrown, as one line. */
export function errorMessage(thrown: unknown): string {
  if (isErrorLike(thrown)) return oneLine(thrown.message) || thrown.name || 'unknown error';
  return oneLine(String(thrown));
}

/** A CallError for anything that was thrown; `where` names whose code it was. */
export function toCallError(thrown: unknown, where: string): CallError {
  const kind = thrown instanceof CallAbort ? thrown.kind : 'failed';
  const traceback = isErrorLike(thrown) ? thrown.stack : undefined;
  return { kind, message: errorMessage(thrown), where, ...(traceback === undefined ? {} : { traceback }) };
}

/** Whether a value from outside is a result that the rest of core can rely on. */
export function isCallResult(value: unknown): value is CallResult {
  if (typeof value !== 'object' || value === null) return false;
  const result = value as Partial<Record<string, unknown>>;
  if (result.ok === true) return isCallContent(result.content);
  const error = result.error as Partial<CallError> | undefined;
  return result.ok === false && typeof error?.kind === 'string' && typeof error.message === 'string';
}

/** Whether a value from outside is content of a message or result. */
export function isCallContent(value: unknown): value is CallContent {
  if (typeof value === 'string') return true;
  return (
    Array.isArray(value) &&
    value.every(
      (part) =>
        (part?.type === 'text' && typeof part.text === 'string') ||
        (part?.type === 'image' && typeof part.data === 'string' && typeof part.mime === 'string'),
    )
  );
}

/** The result as it stands in the conversation. */
export function toResultPart(id: string, name: string, result: CallResult): ToolResultPart {
  if (!result.ok) {
    return { type: 'tool_result', id, name, is_error: true, content: failureContent(result) };
  }
  const { content, isError, details } = result;
  return {
    type: 'tool_result',
    id,
    name,
    is_error: isError === true,
    content,
    ...(details === undefined ? {} : { details }),
  };
}

/** What the model sees of a failed call: `where: message`, then what the call had said until then. */
function failureContent({ error, partial }: Failure): CallContent {
  const text = error.where ? `${error.where}: ${error.message}` : error.message;
  if (partial === undefined || partial.length === 0) return text;
  const heading = `${text}\nOutput until then:\n`;
  return typeof partial === 'string' ? heading + partial : [{ type: 'text', text: heading }, ...partial];
}

// Errors of other realms (vm contexts, structured clones) are no instances of this realm's Error.
function isErrorLike(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && typeof (value as Error).message === 'string';
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*[\r\n]+\s*/g, ' ');
}
