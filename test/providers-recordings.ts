// Answers of both services as they come over the wire, and ways to send them.
import type { ServerResponse } from 'node:http';
import type { SurfaceName } from './providers-support.js';

/** One recorded answer of each service; the last piece is what says that it is complete. */
export const recorded: Record<SurfaceName, (text: string) => { events: string[]; end: string[] }> = {
  anthropic: (text) => ({
    events: [
      event('message_start', {
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'test-model',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 12, output_tokens: 1, cache_read_input_tokens: 300, cache_creation_input_tokens: 40 },
        },
      }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event('ping', {}),
      ...halves(text).map((half) =>
        event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: half } }),
      ),
      event('content_block_stop', { index: 0 }),
    ],
    end: [
      event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 9 } }),
      event('message_stop', {}),
    ],
  }),
  openai: (text) => ({
    events: [chunk({ role: 'assistant', content: '' }), ...halves(text).map((half) => chunk({ content: half }))],
    end: [
      chunk({}, 'stop'),
      data({
        id: 'c1',
        choices: [],
        usage: { prompt_tokens: 312, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 300 } },
      }),
      'data: [DONE]\n\n',
    ],
  }),
};

export function halves(text: string): string[] {
  const points = [...text];
  return [points.slice(0, 9).join(''), points.slice(9).join('')];
}

export function event(type: string, body: object): string {
  return `event: ${type}\n${data({ type, ...body })}`;
}

export function chunk(delta: object, finish_reason: string | null = null): string {
  return data({ id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason }] });
}

export function data(body: object): string {
  return `data: ${JSON.stringify(body)}\n\n`;
}

export function whole(surface: SurfaceName, text: string): string {
  const { events, end } = recorded[surface](text);
  return [...events, ...end].join('');
}

/** One tool call whose arguments are sent as given, in two pieces. */
export function toolCall(surface: SurfaceName, input: string, stop: 'calls' | 'length' = 'calls'): string {
  const pieces = [input.slice(0, 3), input.slice(3)];
  if (surface === 'anthropic') {
    return [
      ...recorded.anthropic('Writing.').events,
      event('content_block_start', {
        index: 1,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'write', input: {} },
      }),
      ...pieces.map((partial_json) =>
        event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json } }),
      ),
      event('content_block_stop', { index: 1 }),
      event('message_delta', {
        delta: { stop_reason: stop === 'calls' ? 'tool_use' : 'max_tokens' },
        usage: { output_tokens: 9 },
      }),
      event('message_stop', {}),
    ].join('');
  }
  const call = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] });
  return [
    ...recorded.openai('Writing.').events,
    call({ id: 'call_1', type: 'function', function: { name: 'write', arguments: '' } }),
    ...pieces.map((piece) => call({ function: { arguments: piece } })),
    chunk({}, stop === 'calls' ? 'tool_calls' : 'length'),
    'data: [DONE]\n\n',
  ].join('');
}

/** Sends each piece in a packet of its own, as far as the network lets us. */
export function packets(
  pieces: Iterable<Buffer | string>,
  end: (response: ServerResponse) => void = (response) => response.end(),
) {
  return async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) {
      if (response.destroyed) return;
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    end(response);
  };
}

/** Sends the pieces and then keeps still; `closed` resolves when the other side has gone. */
export function unfinished(pieces: readonly string[]) {
  let gone = () => {};
  const closed = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const send = packets(pieces, () => {});
  return {
    closed,
    script: (response: ServerResponse) => {
      response.on('close', gone);
      return send(response);
    },
  };
}

export function* bytes(text: string): Iterable<Buffer> {
  for (const byte of Buffer.from(text)) yield Buffer.from([byte]);
}
