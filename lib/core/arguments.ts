// The arguments of a call: JSON text from the model, read strictly, since a gate and a tool must see the same values.
import { errorMessage } from './results.js';
import type { Json } from './types.js';

export type JsonObject = { [key: string]: Json };
export type ParsedArguments = { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; cause: string };

/** Reads the JSON object that a call's arguments must be; the cause says what is wrong and quotes the beginning. */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === '') return { ok: false, cause: 'the arguments are empty; send a JSON object, {} at least' };
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return { ok: false, cause: `the arguments are not valid JSON: ${errorMessage(error)}; received: ${quote(text)}` };
  }
  if (!isJsonObject(value)) {
    return { ok: false, cause: `the arguments must be a JSON object; received: ${quote(text)}` };
  }
  const twice = duplicateKey(text);
  if (twice !== undefined) {
    return { ok: false, cause: `the arguments name the key ${JSON.stringify(twice)} twice; received: ${quote(text)}` };
  }
  return { ok: true, value };
}

/** The text itself where it is a JSON object, else `{}`: what can be sent back to a provider. */
export function resendableInput(text: string): string {
  return parseArguments(text).ok ? text : '{}';
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The first key that stands twice in one object of a valid JSON text: parsers disagree on which of the two counts. */
function duplicateKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(token.slice(0, -colon.length)) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
  }
  return undefined;
}

function quote(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
