// A provider that plays assistant turns from a JSON file: `scripted:FILE`. Tools are the real ones; only the model is not.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../core/results.js';
import { compileSchema } from '../core/schema.js';
import type { AssistantPart, Json, Provider, ToolCallPart, TurnEvent, Usage } from '../core/types.js';

export interface Script {
  readonly turns: readonly ScriptedTurn[];
}
export interface ScriptedTurn {
  readonly text?: string;
  readonly thinking?: string;
  readonly tool_calls?: readonly ScriptedCall[];
  /** Default: `tool_calls` where the turn has some, else `end`. */
  readonly stop?: 'end' | 'tool_calls' | 'length' | 'refused';
  readonly usage?: Usage;
  /** Milliseconds before the turn begins. */
  readonly delay_ms?: number;
}
export interface ScriptedCall {
  readonly name: string;
  readonly input?: Json;
  /** The text of the arguments as it is, in place of `input`: what a model gets wrong can be played, too. */
  readonly input_text?: string;
  /** Default: one that is new. */
  readonly id?: string;
}

const count = { type: 'number', minimum: 0 };
const SCRIPT_SCHEMA: Json = {
  type: 'object',
  required: ['turns'],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    turns: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        properties: {
          text: { type: 'string' },
          thinking: { type: 'string' },
          stop: { enum: ['end', 'tool_calls', 'length', 'refused'] },
          delay_ms: count,
          usage: {
            type: 'object',
            required: ['input', 'output'],
            additionalProperties: false,
            properties: { input: count, output: count, cacheRead: count, cacheWrite: count, cost: count },
          },
          tool_calls: {
            type: 'array',
            items: {
              type: 'object',
              required: ['name'],
              additionalProperties: false,
              properties: {
                name: { type: 'string' },
                input: {},
                input_text: { type: 'string' },
                id: { type: 'string' },
              },
            },
          },
        },
      },
    },
  },
};

/** Reads and checks a script. Throws one line with the file and the cause. */
export async function createScriptedProvider(file: string): Promise<Provider> {
  const id = `scripted:${file}`;
  let script: Json;
  try {
    script = JSON.parse(await readFile(file, 'utf8')) as Json;
  } catch (error) {
    throw new Error(`${id}: ${errorMessage(error)}`);
  }
  const problem = (await compileSchema(SCRIPT_SCHEMA))(script);
  if (problem !== undefined) throw new Error(`${id}: ${problem}`);
  return playScript(script as unknown as Script, id);
}

/** Plays a script: each request gets its next turn. */
export function playScript({ turns }: Script, id = 'scripted'): Provider {
  let next = 0;
  return {
    id,
    async *stream(_request, signal) {
      const turn = turns[next++];
      if (!turn) {
        const has = turns.length === 1 ? 'it has only 1 turn' : `it has only ${turns.length} turns`;
        throw new Error(`the script has no answer to request ${next}: ${has}`);
      }
      if (turn.delay_ms) await sleep(turn.delay_ms, undefined, { signal });
      yield* playTurn(turn, next);
    },
  };
}

function* playTurn(turn: ScriptedTurn, number: number): Generator<TurnEvent> {
  const content: AssistantPart[] = [];
  if (turn.thinking) {
    for (const delta of deltas(turn.thinking)) yield { type: 'thinking', delta };
    content.push({ type: 'thinking', text: turn.thinking });
  }
  if (turn.text) {
    for (const delta of deltas(turn.text)) yield { type: 'text', delta };
    content.push({ type: 'text', text: turn.text });
  }
  for (const [index, call] of (turn.tool_calls ?? []).entries()) {
    const part: ToolCallPart = {
      type: 'tool_call',
      id: call.id ?? `call_${number}_${index + 1}`,
      name: call.name,
      input: call.input_text ?? JSON.stringify(call.input ?? {}),
    };
    const { id, name, input } = part;
    for (const delta of deltas(input)) yield { type: 'tool_input', id, name, delta };
    yield { type: 'tool_call', id, name, input };
    content.push(part);
  }
  const stop = turn.stop ?? (turn.tool_calls?.length ? 'tool_calls' : 'end');
  yield { type: 'done', message: { role: 'assistant', content }, usage: turn.usage ?? { input: 0, output: 0 }, stop };
}

/** A text in up to four pieces, cut between characters. */
function deltas(text: string): string[] {
  const characters = [...text];
  const size = Math.ceil(characters.length / 4);
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(''));
  return pieces;
}
