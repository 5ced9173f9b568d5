// One streamed answer: the parts of the SDK packages become our events, and at the end the whole message.
import type { LanguageModelV3StreamPart, LanguageModelV3Usage, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import type { AssistantMessage, AssistantPart, Json, TurnEvent, Usage } from '../core/types.js';
import { isRecord } from './error-text.js';

type Done = Extract<TurnEvent, { type: 'done' }>;
type FinishPart = Extract<LanguageModelV3StreamPart, { type: 'finish' }>;

/** A part while it grows; in the order in which the model began them. */
interface Growing {
  readonly type: 'text' | 'thinking' | 'tool_call';
  readonly id: string;
  readonly name: string;
  text: string;
  opaque: SharedV3ProviderMetadata | undefined;
}

export class Answer {
  readonly #parts: Growing[] = [];
  readonly #open = new Map<string, Growing>();
  #finish: FinishPart | undefined;

  /**
   * @param origin where the message comes from, kept with it
   * @param emptyInput what a call of a tool without a byte of arguments means
   */
  constructor(
    readonly origin: Json,
    readonly emptyInput: (toolName: string) => '' | '{}',
  ) {}

  /** What a part of the stream shows; errors are the caller's. */
  accept(part: LanguageModelV3StreamPart): TurnEvent | undefined {
    switch (part.type) {
      case 'text-start':
        this.#begin(`text ${part.id}`, 'text', part.id, '', part.providerMetadata);
        return undefined;
      case 'text-delta':
        return this.#grow(`text ${part.id}`, part.delta, part.providerMetadata);
      case 'text-end':
        return this.#grow(`text ${part.id}`, '', part.providerMetadata);
      case 'reasoning-start':
        this.#begin(`thinking ${part.id}`, 'thinking', part.id, '', part.providerMetadata);
        return undefined;
      case 'reasoning-delta':
        return this.#grow(`thinking ${part.id}`, part.delta, part.providerMetadata);
      case 'reasoning-end':
        return this.#grow(`thinking ${part.id}`, '', part.providerMetadata);
      case 'tool-input-start':
        this.#begin(`call ${part.id}`, 'tool_call', part.id, part.toolName, part.providerMetadata);
        return { type: 'tool_input', id: part.id, name: part.toolName, delta: '' };
      case 'tool-input-delta':
        return this.#grow(`call ${part.id}`, part.delta, part.providerMetadata);
      case 'tool-call': {
        // The deltas carry the arguments as sent; here they may have been put right.
        const call = this.#open.get(`call ${part.toolCallId}`);
        if (call) merge(call, part.providerMetadata);
        else
          this.#begin(
            `call ${part.toolCallId}`,
            'tool_call',
            part.toolCallId,
            part.toolName,
            part.providerMetadata,
          ).text = part.input;
        return undefined;
      }
      case 'finish':
        this.#finish = part;
        return undefined;
      default:
        return undefined;
    }
  }

  /** Why the model stopped, as the service calls it; undefined while it has not. */
  get finished(): { unified: string; raw: string | undefined } | undefined {
    return this.#finish?.finishReason;
  }

  /** The events that end the answer. Only after `finished`. */
  end(): TurnEvent[] {
    const finish = this.#finish;
    if (!finish) throw new Error('the answer is not finished');
    const stop = stopOf(
      finish.finishReason.unified,
      this.#parts.some((part) => part.type === 'tool_call'),
    );
    const content = this.#parts.flatMap((part) => this.#toPart(part, stop));
    const message: AssistantMessage = { role: 'assistant', content, opaque: this.origin };
    const calls = content.flatMap((part): TurnEvent[] =>
      part.type === 'tool_call' ? [{ type: 'tool_call', id: part.id, name: part.name, input: part.input }] : [],
    );
    return [...calls, { type: 'done', message, usage: usageOf(finish.usage), stop }];
  }

  #begin(
    key: string,
    type: Growing['type'],
    id: string,
    name: string,
    opaque: SharedV3ProviderMetadata | undefined,
  ): Growing {
    const part: Growing = { type, id, name, text: '', opaque: undefined };
    merge(part, opaque);
    this.#parts.push(part);
    this.#open.set(key, part);
    return part;
  }

  #grow(key: string, delta: string, opaque: SharedV3ProviderMetadata | undefined): TurnEvent | undefined {
    const part = this.#open.get(key);
    if (!part) return undefined;
    part.text += delta;
    merge(part, opaque);
    if (delta === '') return undefined;
    return part.type === 'tool_call'
      ? { type: 'tool_input', id: part.id, name: part.name, delta }
      : { type: part.type, delta };
  }

  #toPart(part: Growing, stop: Done['stop']): AssistantPart[] {
    const opaque = part.opaque === undefined ? {} : { opaque: part.opaque as Json };
    switch (part.type) {
      case 'text':
        return part.text === '' ? [] : [{ type: 'text', text: part.text, ...opaque }];
      case 'thinking':
        return part.text === '' && part.opaque === undefined ? [] : [{ type: 'thinking', text: part.text, ...opaque }];
      case 'tool_call': {
        // A call that was cut off before its first byte is not one without arguments.
        const input = part.text === '' && stop !== 'length' ? this.emptyInput(part.name) : part.text;
        return [{ type: 'tool_call', id: part.id, name: part.name, input, ...opaque }];
      }
    }
  }
}

/** Some servers say "stop" although there are calls (Ollama), and a call must be answered. */
function stopOf(unified: FinishPart['finishReason']['unified'], hasCalls: boolean): Done['stop'] {
  if (unified === 'length') return 'length';
  if (unified === 'content-filter') return 'refused';
  return hasCalls ? 'tool_calls' : 'end';
}

/** `input` is what was read anew: the whole prompt is input + cacheRead + cacheWrite. */
function usageOf(usage: LanguageModelV3Usage): Usage {
  const { total, noCache, cacheRead, cacheWrite } = usage.inputTokens;
  const cost = isRecord(usage.raw) ? usage.raw.cost : undefined;
  return {
    input: noCache ?? total ?? 0,
    output: usage.outputTokens.total ?? 0,
    ...(cacheRead ? { cacheRead } : {}),
    ...(cacheWrite ? { cacheWrite } : {}),
    ...(typeof cost === 'number' ? { cost } : {}),
  };
}

function merge(part: Growing, more: SharedV3ProviderMetadata | undefined): void {
  for (const [name, data] of Object.entries(more ?? {})) {
    part.opaque = { ...part.opaque, [name]: { ...part.opaque?.[name], ...data } };
  }
}
