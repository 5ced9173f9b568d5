// One line about a tool call: its name, the argument that says most, its time and how it ended.
import type { CallContent, CallResult, Json } from '../core/types.js';
import { cleanLine } from './clean.js';

/** Arguments that say most about a call, best first. */
const telling = ['command', 'path', 'pattern', 'query', 'url', 'name'];
const maxSummary = 80;

/** At most `limit` characters, the cut marked with "…"; never half of a surrogate pair. */
export function shorten(text: string, limit: number): string {
  const characters = Array.from(text);
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join('')}…`;
}

/** The arguments of a call in a few words, as one line that is safe to print. */
export function summarizeInput(input: Json): string {
  if (input === null || typeof input !== 'object' || Array.isArray(input))
    return shorten(cleanLine(toText(input)), maxSummary);
  const entries = Object.entries(input);
  const rank = (key: string) => (telling.includes(key) ? telling.indexOf(key) : telling.length);
  const words = entries
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
    .sort(([left], [right]) => rank(left) - rank(right));
  const [first] = words;
  if (first === undefined) return entries.length === 0 ? '' : shorten(cleanLine(toText(input)), maxSummary);
  return shorten(cleanLine(String(first[1])), maxSummary);
}

/** All arguments, for a question that the person has to decide on; long ones are cut, and it says by how much. */
export function describeInput(input: Json, limit = 2000): string {
  const describe = (value: Json): string => {
    const text = cleanLine(toText(value));
    const cut = Array.from(text).length - limit;
    return cut <= 0 ? text : `${shorten(text, limit)} (${cut} more characters)`;
  };
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return `  ${describe(input)}`;
  return Object.entries(input)
    .map(([key, value]) => `  ${cleanLine(key)}: ${describe(value)}`)
    .join('\n');
}

/** The text of a content; images are named. */
export function contentText(content: CallContent): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : `[image ${part.mime}]`)).join('\n');
}

/** Why a result is an error, in one line; undefined for a good one. */
export function failureOf(result: CallResult): string | undefined {
  if (!result.ok) return cleanLine(result.error.message);
  if (!result.isError) return undefined;
  const lines = contentText(result.content)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return shorten(cleanLine(lines[0] ?? 'failed'), 200);
}

/** A duration in milliseconds as people read it: "12 ms", "1.2 s", "2 min 3 s". */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function toText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
