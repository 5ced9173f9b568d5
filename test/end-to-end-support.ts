// The real command with real extensions: the files lie in a home of their own, the model plays a script, the events are read back.
import type { CallError, Json, Message, ToolResultPart } from '../lib/core/types.js';
import { type Finished, Place, type RunOptions } from './cli-support.js';

export interface CallResultLine {
  readonly id: string;
  readonly name: string;
  readonly is_error: boolean;
  readonly content: string;
  readonly details?: Json;
  readonly error?: CallError;
  readonly started_ms: number;
  readonly ended_ms: number;
}
export interface ScriptedCall {
  readonly name: string;
  readonly input?: Json;
  /** Instead of `input`: the text as it is. */
  readonly input_text?: string;
}
export interface Run extends Finished {
  readonly events: readonly ({ type: string } & Record<string, unknown>)[];
  /** In the order in which they came. */
  readonly results: readonly CallResultLine[];
  /** What the model gets: the results of each turn, in the order of the message. */
  readonly sent: readonly (readonly ToolResultPart[])[];
  /** Lines of stderr that are warnings. */
  readonly warnings: readonly string[];
}

/** The text of an extension that registers handlers (parameters: input, call); `schema` is Lua, default any object. */
export function extensionOf(
  name: string,
  bodies: Readonly<Record<string, string>>,
  prelude = '',
  schema = '{ type = "object" }',
): string {
  const tools = Object.entries(bodies).map(
    ([tool, body]) =>
      `ext.register_tool { name = "${tool}", description = "test", schema = ${schema}, handler = function(input, call)\n${body}\nend }`,
  );
  return `local uv = require "luv"\n${prelude}\nreturn { name = "${name}", activate = function(ext)\n${tools.join('\n')}\nend }\n`;
}

export class Home extends Place {
  /** A file of the user's layer. */
  extension(file: string, text: string): string {
    return this.write(`~/.config/panto/extensions/${file}`, text);
  }

  /** Runs the turns, one list of calls each, and a last one that says "done". */
  async turns(
    turns: readonly (readonly ScriptedCall[])[],
    options: RunOptions & { flags?: readonly string[] } = {},
  ): Promise<Run> {
    const model = this.script([...turns.map((tool_calls) => ({ tool_calls: [...tool_calls] })), { text: 'done' }]);
    const flags = ['--permission', 'auto', '--output', 'jsonl', ...(options.flags ?? [])];
    return readRun(await this.run(['-p', 'go', '--model', model, ...flags], options));
  }

  /** The results of one turn in call order. */
  async calls(...calls: readonly ScriptedCall[]): Promise<readonly ToolResultPart[]> {
    const run = await this.turns([calls]);
    if (run.sent[0] === undefined) throw new Error(`no results (status ${run.status ?? run.signal}): ${run.stderr}`);
    return run.sent[0];
  }
}

/** Every line of the protocol must be JSON. */
export function readRun(finished: Finished): Run {
  const lines = finished.stdout.split('\n').slice(0, -1);
  const events = lines.map((line) => JSON.parse(line) as { type: string } & Record<string, unknown>);
  const messages = events.flatMap(({ type, message }) => (type === 'message' ? [message as unknown as Message] : []));
  return {
    ...finished,
    events,
    results: events.filter(({ type }) => type === 'tool_result') as unknown as CallResultLine[],
    sent: messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])),
    warnings: finished.stderr.split('\n').filter((line) => line.startsWith('panto: warning: ')),
  };
}

/** Whether each began before any of them ended. */
export function allOverlap(calls: readonly { started_ms: number; ended_ms: number }[]): boolean {
  return Math.max(...calls.map((call) => call.started_ms)) < Math.min(...calls.map((call) => call.ended_ms));
}
