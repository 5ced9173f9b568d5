// Ids of tool calls. Some providers repeat theirs, in a turn or between turns; here an id names one call of the session.
import { randomUUID } from 'node:crypto';
import type { Message, TurnEvent } from './types.js';

/** What every provider takes back. */
const RESENDABLE = /^[A-Za-z0-9_-]{1,64}$/;

export class CallIds {
  readonly #used = new Set<string>();

  /** Takes note of the ids in a conversation. */
  note(messages: readonly Message[]): void {
    for (const message of messages) {
      if (message.role !== 'assistant') continue;
      for (const part of message.content) if (part.type === 'tool_call') this.#used.add(part.id);
    }
  }

  /** The provider's id where it is new in the session, else a fresh one. */
  claim(providerId = ''): string {
    const id =
      RESENDABLE.test(providerId) && !this.#used.has(providerId)
        ? providerId
        : `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
    this.#used.add(id);
    return id;
  }

  forTurn(): TurnIds {
    return new TurnIds(this);
  }
}

/** The ids of one assistant message while it streams: the deltas of a call carry the id that the call will have. */
export class TurnIds {
  readonly #ids: CallIds;
  /** By the provider's id: the call that its deltas belong to now. */
  readonly #open = new Map<string, string>();
  /** By the provider's id: the calls that are complete, in order. */
  readonly #complete = new Map<string, string[]>();

  constructor(ids: CallIds) {
    this.#ids = ids;
  }

  /** The event with the id of the session in place of the provider's. */
  translate(event: TurnEvent): TurnEvent {
    if (event.type !== 'tool_input' && event.type !== 'tool_call') return event;
    const id = this.#open.get(event.id) ?? this.#ids.claim(event.id);
    if (event.type === 'tool_input') {
      this.#open.set(event.id, id);
    } else {
      this.#open.delete(event.id);
      this.#complete.set(event.id, [...(this.#complete.get(event.id) ?? []), id]);
    }
    return { ...event, id };
  }

  /** The id of the next call of the finished message that the provider calls `providerId`. */
  take(providerId: string): string {
    const streamed = this.#complete.get(providerId)?.shift() ?? this.#open.get(providerId);
    this.#open.delete(providerId);
    return streamed ?? this.#ids.claim(providerId);
  }
}
