// One request to the provider: streams the assistant message, gives its calls their ids, and says how it ended.
import { untilAborted } from './abort.js';
import type { CallIds, TurnIds } from './call-ids.js';
import { type RequestedCall, requestCall } from './live-call.js';
import { toCallError } from './results.js';
import type {
  AssistantMessage,
  AssistantPart,
  CallError,
  Provider,
  ToolCallPart,
  TurnEvent,
  TurnRequest,
  Usage,
} from './types.js';

type Done = Extract<TurnEvent, { type: 'done' }>;

export type StreamedTurn =
  | {
      readonly kind: 'message';
      readonly message: AssistantMessage;
      /** The calls as the model sent them, in order; the message holds what can be sent back. */
      readonly calls: readonly RequestedCall[];
      readonly usage: Usage;
      readonly stop: Done['stop'];
    }
  /** `partial`: the text until then. Thinking and calls of an unfinished message are left out: providers take neither back. */
  | { readonly kind: 'aborted'; readonly partial?: AssistantMessage }
  | { readonly kind: 'failed'; readonly error: CallError; readonly partial?: AssistantMessage };

export async function streamTurn(
  provider: Provider,
  request: TurnRequest,
  ids: CallIds,
  signal: AbortSignal,
  onEvent: (event: TurnEvent) => void,
): Promise<StreamedTurn> {
  const turnIds = ids.forTurn();
  let text = '';
  let events: AsyncIterator<TurnEvent> | undefined;
  try {
    signal.throwIfAborted();
    events = provider.stream(request, signal)[Symbol.asyncIterator]();
    while (true) {
      const next = await untilAborted(events.next(), signal);
      if (next.done) throw new Error('the stream ended before the message was complete');
      const event = turnIds.translate(next.value);
      if (event.type === 'done') return finish(event, turnIds);
      if (event.type === 'text') text += event.delta;
      onEvent(event);
    }
  } catch (error) {
    const partial = textMessage(text);
    // What a provider throws when its request is aborted is its own affair.
    return signal.aborted
      ? { kind: 'aborted', ...partial }
      : { kind: 'failed', error: toCallError(error, provider.id), ...partial };
  } finally {
    // Lets the provider close its connection; one that hangs is not waited for.
    Promise.resolve(events?.return?.()).catch(() => {});
  }
}

function finish({ message, usage, stop }: Done, turnIds: TurnIds): StreamedTurn {
  const calls: RequestedCall[] = [];
  const content = message.content.filter(hasContent).map((part) => {
    if (part.type !== 'tool_call') return part;
    const call = requestCall(turnIds.take(part.id), part.name, part.input);
    calls.push(call);
    return resendable(part, call);
  });
  return { kind: 'message', message: { ...message, content }, calls, usage, stop };
}

/** The part as it can be sent back to any provider. */
function resendable(part: ToolCallPart, { id, input, parsed }: RequestedCall): ToolCallPart {
  return { ...part, id, input: parsed.ok ? input : '{}', ...(id === part.id ? {} : { provider_id: part.id }) };
}

/** Providers refuse empty texts. */
function hasContent(part: AssistantPart): boolean {
  return part.type !== 'text' || part.text !== '';
}

function textMessage(text: string): { partial?: AssistantMessage } {
  return text === '' ? {} : { partial: { role: 'assistant', content: [{ type: 'text', text }] } };
}
