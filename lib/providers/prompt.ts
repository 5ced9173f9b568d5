// Our conversation as a prompt of the SDK packages (LanguageModelV3). What one service would refuse is put right here:
// empty texts, call ids and tool names out of its alphabet, arguments that are no JSON object, two messages of the user in a row.
import type {
  JSONValue,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider';
import type {
  AssistantMessage,
  CallContent,
  Json,
  Message,
  ToolCallPart,
  ToolDecl,
  ToolResultPart,
  TurnRequest,
} from '../core/types.js';
import { isRecord } from './error-text.js';

/** In what the services differ. */
export interface Dialect {
  /** Marks the thinking of a message as ours: see `origin`. */
  readonly provider: string;
  /** The service takes pictures inside tool results; else they follow in a message of the user. */
  readonly imagesInResults: boolean;
  /** Texts of the user become one: many servers take nothing but a string there. */
  readonly joinTexts: boolean;
  /** Arguments travel as text, so the model's own bytes can go back (numbers, order and spaces kept). */
  readonly inputAsText: boolean;
  /** Longest id of a call, and tool names. */
  readonly longestId: number;
  /** Options on the messages up to which the service shall cache. */
  readonly cacheMark?: SharedV3ProviderOptions;
  /** The data of a part as the service wants it back. */
  readonly toOptions: (data: SharedV3ProviderOptions) => SharedV3ProviderOptions;
}

type UserParts = Extract<LanguageModelV3Message, { role: 'user' }>['content'];
type AssistantParts = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'];

/** What an assistant message of ours remembers of where it came from (Message.opaque). */
export function origin(provider: string, model: string): Json {
  return { provider, model };
}

export function toPrompt(request: TurnRequest, dialect: Dialect): LanguageModelV3Prompt {
  const ids = wireIds(request.messages, dialect.longestId);
  const prompt: LanguageModelV3Prompt = [];
  for (const message of request.messages) {
    for (const next of toMessages(message, dialect, ids)) {
      const last = prompt.at(-1);
      if (next.role === 'user' && last?.role === 'user') last.content.push(...next.content);
      else prompt.push(next);
    }
  }
  if (dialect.joinTexts) joinTexts(prompt);
  if (dialect.cacheMark) markForCache(prompt, dialect.cacheMark);
  if (request.system.trim() === '') return prompt;
  return [
    {
      role: 'system',
      content: request.system,
      ...(dialect.cacheMark ? { providerOptions: dialect.cacheMark } : {}),
    },
    ...prompt,
  ];
}

export function toTools(tools: readonly ToolDecl[]): LanguageModelV3FunctionTool[] {
  return tools.map((tool) => ({
    type: 'function',
    name: tool.name,
    description: tool.description,
    inputSchema: tool.inputSchema as LanguageModelV3FunctionTool['inputSchema'],
  }));
}

/**
 * The last message, and the one before the last answer: its mark is the last of the request before, so the cache is found
 * also when a turn had more blocks than the service looks back over (20 at Anthropic, which allows four marks).
 */
function markForCache(prompt: LanguageModelV3Prompt, mark: SharedV3ProviderOptions): void {
  const asked = prompt.filter((message) => message.role === 'user' || message.role === 'tool');
  for (const message of asked.slice(-2)) message.providerOptions = mark;
}

function joinTexts(prompt: LanguageModelV3Prompt): void {
  for (const message of prompt) {
    if (message.role !== 'user' || message.content.some((part) => part.type !== 'text')) continue;
    const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
    message.content = [{ type: 'text', text }];
  }
}

function toMessages(
  message: Message,
  dialect: Dialect,
  ids: ReadonlyMap<string, string>,
): Exclude<LanguageModelV3Message, { role: 'system' }>[] {
  switch (message.role) {
    case 'user': {
      const content = userParts(message.content);
      return content.length === 0 ? [] : [{ role: 'user', content }];
    }
    case 'assistant': {
      const content = assistantParts(message, dialect, ids);
      return content.length === 0 ? [] : [{ role: 'assistant', content }];
    }
    case 'tool': {
      const pictures: UserParts = [];
      const content = message.content.map((part) => resultPart(part, dialect, ids, pictures));
      if (content.length === 0) return [];
      const tool = { role: 'tool' as const, content };
      return pictures.length === 0 ? [tool] : [tool, { role: 'user', content: pictures }];
    }
  }
}

function userParts(content: CallContent): UserParts {
  if (typeof content === 'string') return isBlank(content) ? [] : [{ type: 'text', text: content }];
  return content.flatMap((part): UserParts => {
    if (part.type === 'image') return [{ type: 'file', data: part.data, mediaType: part.mime }];
    return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }];
  });
}

function assistantParts(message: AssistantMessage, dialect: Dialect, ids: ReadonlyMap<string, string>): AssistantParts {
  const ours = isRecord(message.opaque) && message.opaque.provider === dialect.provider;
  return message.content.flatMap((part): AssistantParts => {
    const data = ours && isRecord(part.opaque) ? (part.opaque as SharedV3ProviderOptions) : undefined;
    const options = data === undefined ? {} : { providerOptions: dialect.toOptions(data) };
    if (part.type === 'tool_call') {
      const toolCallId = ids.get(part.id) ?? part.id;
      return [
        { type: 'tool-call', toolCallId, toolName: wireName(part.name), input: wireInput(part, dialect), ...options },
      ];
    }
    // The thinking of another service means nothing to this one, and some refuse it.
    if (part.type === 'thinking') return ours ? [{ type: 'reasoning', text: part.text, ...options }] : [];
    return isBlank(part.text) ? [] : [{ type: 'text', text: part.text, ...options }];
  });
}

function resultPart(
  part: ToolResultPart,
  dialect: Dialect,
  ids: ReadonlyMap<string, string>,
  pictures: UserParts,
): LanguageModelV3ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId: ids.get(part.id) ?? part.id,
    toolName: wireName(part.name),
    output: resultOutput(part, dialect, pictures),
  };
}

function resultOutput(part: ToolResultPart, dialect: Dialect, pictures: UserParts): LanguageModelV3ToolResultOutput {
  const kind = part.is_error ? 'error-text' : 'text';
  if (typeof part.content === 'string') return { type: kind, value: part.content };
  const images = part.content.filter((piece) => piece.type === 'image');
  const text = part.content.flatMap((piece) => (piece.type === 'text' ? [piece.text] : [])).join('\n');
  if (images.length === 0) return { type: kind, value: text };
  if (!dialect.imagesInResults) {
    pictures.push({ type: 'text', text: `The result of ${part.name} (${part.id}):` }, ...userParts(images));
    return { type: kind, value: text === '' ? 'The picture follows.' : text };
  }
  // The packages have no error with pictures; the word has to say it.
  const lead = part.is_error ? `Error: ${text}` : text;
  return {
    type: 'content',
    value: [
      ...(isBlank(lead) ? [] : [{ type: 'text' as const, text: lead }]),
      ...images.map((image) => ({ type: 'image-data' as const, data: image.data, mediaType: image.mime })),
    ],
  };
}

/** Arguments must be a JSON object, whatever the model wrote: a service refuses the whole conversation otherwise. */
function wireInput(part: ToolCallPart, dialect: Dialect): JSONValue {
  let parsed: unknown;
  try {
    parsed = JSON.parse(part.input);
  } catch {
    parsed = undefined;
  }
  if (!isRecord(parsed) || Array.isArray(parsed)) {
    // Anthropic's advice for broken arguments: the model sees what it wrote.
    return part.input.trim() === '' ? {} : { INVALID_JSON: part.input };
  }
  // The packages turn texts that hold these keys into a JSON string, which no service takes for arguments.
  const suspicious = /proto|constructor|\\u/i.test(part.input);
  return dialect.inputAsText && !suspicious ? part.input : (parsed as JSONValue);
}

/** A name that the model made up may be outside of what services let a history contain. */
function wireName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || '_';
}

/** An id for each call that every service takes ([A-Za-z0-9_-], not too long), distinct where ours were. */
function wireIds(messages: readonly Message[], longest: number): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.content) {
      if (part.type !== 'tool_call' || ids.has(part.id)) continue;
      const clean = part.id.replace(/[^A-Za-z0-9_-]/g, '_') || 'call';
      let id = clean.slice(0, longest);
      for (let n = 2; taken.has(id); n++) id = `${clean.slice(0, longest - 8)}_${n}`;
      taken.add(id);
      ids.set(part.id, id);
    }
  }
  return ids;
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}
