// What a wire format has to bring so that turn.ts can drive it, and the options of a request that all of them understand.
import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider';
import type { Json, ToolDecl, TurnRequest } from '../core/types.js';
import { isRecord } from './error-text.js';

export interface Surface {
  readonly model: LanguageModelV3;
  /** What a call without a byte of arguments means here; `tool` where the model called one that it was offered. */
  emptyInput(tool: ToolDecl | undefined): '' | '{}';
  callOptions(request: TurnRequest): LanguageModelV3CallOptions;
}

/** TurnRequest.options; unknown keys belong to others and are left alone. */
export interface TurnOptions {
  /** Tokens of the answer at most, thinking not counted. */
  readonly maxOutputTokens?: number;
  /** Tokens of thinking at most; only where the service has such a budget. */
  readonly thinkingBudget?: number;
  /** How hard the model shall think, where the service asks for a word. */
  readonly effort?: 'low' | 'medium' | 'high';
}

export function readTurnOptions(options: Json): TurnOptions {
  const given = isRecord(options) ? options : {};
  const effort = given.effort;
  return {
    ...count('maxOutputTokens', given.maxOutputTokens),
    ...count('thinkingBudget', given.thinkingBudget),
    ...(effort === 'low' || effort === 'medium' || effort === 'high' ? { effort } : {}),
  };
}

function count(name: string, value: unknown): Record<string, number> {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? { [name]: value } : {};
}
