// Keeps a conversation in the form that every provider accepts: each tool call has exactly one result, right after its message.
import { resendableInput } from './arguments.js';
import { failure, toResultPart } from './results.js';
import type { AssistantMessage, Message, ToolCallPart, ToolMessage, ToolResultPart } from './types.js';

/** The calls of an assistant message, in order. */
export function toolCalls(message: AssistantMessage): readonly ToolCallPart[] {
  return message.content.filter((part): part is ToolCallPart => part.type === 'tool_call');
}

/**
 * The conversation with every call answered once, in order: a call without a result was interrupted and gets one that says so;
 * a result without a call is dropped. A conversation that ends inside a turn (a crash, a changed history) is whole again.
 */
export function pairResults(messages: readonly Message[]): Message[] {
  const paired: Message[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') continue;
    if (message.role === 'user') {
      paired.push(message);
      continue;
    }
    const calls = toolCalls(message);
    paired.push(calls.length === 0 ? message : withResendableCalls(message));
    if (calls.length > 0) paired.push(answer(calls, toolMessagesAfter(messages, index)));
  }
  return paired;
}

function toolMessagesAfter(messages: readonly Message[], index: number): ToolMessage[] {
  const found: ToolMessage[] = [];
  for (const message of messages.slice(index + 1)) {
    if (message.role === 'assistant') break;
    if (message.role === 'tool') found.push(message);
  }
  return found;
}

function answer(calls: readonly ToolCallPart[], found: readonly ToolMessage[]): ToolMessage {
  const results = new Map<string, ToolResultPart>();
  for (const part of found.flatMap((message) => message.content)) {
    if (!results.has(part.id)) results.set(part.id, part);
  }
  const content = calls.map((call) => results.get(call.id) ?? interrupted(call));
  return { ...found[0], role: 'tool', content };
}

function interrupted({ id, name }: ToolCallPart): ToolResultPart {
  const message = 'interrupted before it gave a result; it may have had effects';
  return toResultPart(id, name, failure('cancelled', message, { where: name }));
}

function withResendableCalls(message: AssistantMessage): AssistantMessage {
  return {
    ...message,
    content: message.content.map((part) =>
      part.type === 'tool_call' ? { ...part, input: resendableInput(part.input) } : part,
    ),
  };
}
