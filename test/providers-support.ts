// What the provider tests share: a hand-written SSE server, a clock that does not wait, and strict checkers of the requests.
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AssistantMessage, Message, Provider, ToolDecl, TurnEvent, TurnRequest } from '../lib/core/types.js';
import { type Clock, createProvider, type ProviderSettings } from '../lib/providers/index.js';

export const KEY = 'sk-test-0123456789abcdef';
export const SURFACES = ['anthropic', 'openai'] as const;
export type SurfaceName = (typeof SURFACES)[number];

export const wordCount: ToolDecl = {
  name: 'word_count',
  description: 'Counts the words of a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

/** A clock that passes without waiting; `sleeps` are the waits asked for. */
export function fastClock(): Clock & { sleeps: number[] } {
  const sleeps: number[] = [];
  let now = 0;
  return {
    sleeps,
    now: () => now,
    random: () => 0,
    async sleep(ms, signal) {
      signal.throwIfAborted();
      sleeps.push(ms);
      now += ms;
    },
  };
}

/** A provider for one surface at a loopback address (without the version part of the path). */
export function providerAt(surface: SurfaceName, url: string, settings: ProviderSettings = {}): Promise<Provider> {
  return createProvider(
    `${surface}/test-model`,
    {
      providers: { anthropic: { base_url: url }, openai: { base_url: `${url}/v1` } },
      env: { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY },
    },
    { clock: fastClock(), ...settings },
  );
}

export interface Turn {
  readonly events: TurnEvent[];
  readonly text: string;
  readonly thinking: string;
  readonly done: Extract<TurnEvent, { type: 'done' }> | undefined;
  readonly error: Error | undefined;
}

export function request(messages: readonly Message[], more: Partial<TurnRequest> = {}): TurnRequest {
  return { system: 'You are a test.', messages, tools: [wordCount], options: null, ...more };
}

/** Runs a turn to its end, whatever the end is. `onEvent` may abort. */
export async function runTurn(
  provider: Provider,
  turn: TurnRequest | string,
  signal: AbortSignal = new AbortController().signal,
  onEvent: (event: TurnEvent) => void = () => {},
): Promise<Turn> {
  const events: TurnEvent[] = [];
  let error: Error | undefined;
  try {
    const asked = typeof turn === 'string' ? request([{ role: 'user', content: turn }]) : turn;
    for await (const event of provider.stream(asked, signal)) {
      events.push(event);
      onEvent(event);
    }
  } catch (thrown) {
    error = thrown as Error;
  }
  const joined = (type: 'text' | 'thinking') =>
    events.flatMap((event) => (event.type === type ? [event.delta] : [])).join('');
  const done = events.find((event) => event.type === 'done');
  return { events, text: joined('text'), thinking: joined('thinking'), done, error };
}

export function callsOf(message: AssistantMessage | undefined): { id: string; name: string; input: string }[] {
  return (message?.content ?? []).flatMap((part) =>
    part.type === 'tool_call' ? [{ id: part.id, name: part.name, input: part.input }] : [],
  );
}

/** A loopback server that keeps the requests as they were on the wire. */
export interface Recorder {
  readonly url: string;
  readonly bodies: Record<string, unknown>[];
  readonly headers: IncomingHttpHeaders[];
  close(): Promise<void>;
}

type Handler = (body: Buffer, response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

async function record(handle: Handler): Promise<Recorder> {
  const bodies: Record<string, unknown>[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    headers.push(incoming.headers);
    bodies.push(JSON.parse(body.toString()));
    response.socket?.setNoDelay(true);
    await handle(body, response, incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers request n with the n-th script, the last one again and again. */
export function sseServer(...scripts: ((response: ServerResponse) => void | Promise<void>)[]): Promise<Recorder> {
  let asked = 0;
  return record((_body, response) => scripts[Math.min(asked++, scripts.length - 1)]?.(response));
}

/** Stands before another server, which keeps no requests as they were sent. */
export function recordingProxy(target: string): Promise<Recorder> {
  return record((body, response, { url, headers: { host: _, ...headers } }) => {
    const onward = httpRequest(new URL(url ?? '/', target), { method: 'POST', headers }, (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, incoming.headers);
      incoming.on('error', () => response.destroy());
      incoming.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(body);
  });
}

/** A script that sends one answer with a status. */
export function answer(status: number, body: string, headers: Record<string, string> = {}) {
  return (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };
}

/** A script that streams a text as events and ends the answer. */
export function stream(text: string) {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(text);
  };
}

/** The strict part of a service that test servers lack: throws on a conversation that the real one would refuse. */
export function checkConversation(surface: SurfaceName, body: Record<string, unknown>): void {
  if (surface === 'anthropic') checkAnthropic(body);
  else checkOpenAi(body);
}

type Block = Record<string, unknown>;
type WireMessage = { role: string; content: string | Block[] | null; tool_calls?: Block[]; tool_call_id?: string };

function fail(what: string, messages: unknown): never {
  throw new Error(`${what}\n${JSON.stringify(messages, null, 1)}`);
}

// https://docs.anthropic.com/en/api/messages and "tool use": the rules for tool_result blocks.
function checkAnthropic(body: Record<string, unknown>): void {
  const messages = body.messages as WireMessage[];
  if (typeof body.max_tokens !== 'number') fail('max_tokens is missing', body);
  const blocks = (message: WireMessage | undefined): Block[] =>
    Array.isArray(message?.content) ? message.content : [{ type: 'text', text: message?.content ?? '' }];
  const ids = new Set<unknown>();
  for (const [index, message] of messages.entries()) {
    if (message.role !== (index % 2 === 0 ? 'user' : 'assistant'))
      fail(`message ${index} breaks the alternation`, messages);
    if (blocks(message).length === 0) fail(`message ${index} is empty`, messages);
    for (const block of blocks(message)) {
      if (block.type === 'text' && String(block.text).trim() === '') fail(`empty text in message ${index}`, messages);
      if (block.type === 'thinking' && !block.signature)
        fail(`thinking without signature in message ${index}`, messages);
      if (block.type !== 'tool_use') continue;
      if (typeof block.input !== 'object' || block.input === null || Array.isArray(block.input)) {
        fail(`input of ${block.id} is no object`, messages);
      }
      if (ids.has(block.id)) fail(`id ${block.id} twice`, messages);
      if (!/^[A-Za-z0-9_-]+$/.test(String(block.id))) fail(`id ${block.id} is malformed`, messages);
      ids.add(block.id);
    }
    const called = message.role === 'assistant' ? blocks(message).filter((block) => block.type === 'tool_use') : [];
    const next = blocks(messages[index + 1]);
    const answered = next.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id);
    if (message.role === 'assistant' && JSON.stringify(answered) !== JSON.stringify(called.map((block) => block.id))) {
      fail(`calls of message ${index} and the results in the next differ`, messages);
    }
    if (answered.length > 0 && next.slice(0, answered.length).some((block) => block.type !== 'tool_result')) {
      fail(`results must come first in message ${index + 1}`, messages);
    }
    if (index === 0 && blocks(message).some((block) => block.type === 'tool_result')) fail('orphan result', messages);
  }
  if (messages.at(-1)?.role !== 'user') fail('the last message is not the user’s', messages);
}

// https://platform.openai.com/docs/api-reference/chat: tool messages follow the calls they answer.
function checkOpenAi(body: Record<string, unknown>): void {
  const messages = body.messages as WireMessage[];
  let open: unknown[] = [];
  let before = '';
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id)) fail(`orphan or repeated result in message ${index}`, messages);
      if (typeof message.content !== 'string') fail(`result of message ${index} is no text`, messages);
      open = open.filter((id) => id !== message.tool_call_id);
      before = 'tool';
      continue;
    }
    if (open.length > 0) fail(`call ${open[0]} has no result before message ${index}`, messages);
    if (message.role === before) fail(`message ${index} breaks the alternation`, messages);
    if (message.role === 'system' && index !== 0) fail('system message in the middle', messages);
    before = message.role;
    for (const call of message.tool_calls ?? []) {
      const { name, arguments: input } = call.function as { name: string; arguments: string };
      const parsed: unknown = JSON.parse(input);
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
        fail(`arguments of ${name}`, messages);
      if (String(call.id).length > 40) fail(`id ${call.id} is too long`, messages);
      open.push(call.id);
    }
  }
  if (open.length > 0) fail(`call ${open[0]} has no result`, messages);
  if (before === 'assistant') fail('the last message is not the user’s', messages);
}

/** Fails a test in which something was printed or a rejection got lost; a terminal interface would be corrupted. */
export function guardProcess(): void {
  const printed: unknown[][] = [];
  const lost: unknown[] = [];
  const onLost = (reason: unknown) => lost.push(reason);
  beforeEach(() => {
    printed.length = 0;
    lost.length = 0;
    for (const name of ['log', 'info', 'warn', 'error', 'debug'] as const) {
      const original = console[name];
      console[name] = (...words: unknown[]) => printed.push([name, ...words]);
      restore.push(() => {
        console[name] = original;
      });
    }
    process.on('unhandledRejection', onLost);
  });
  const restore: (() => void)[] = [];
  afterEach(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    for (const undo of restore.splice(0)) undo();
    process.off('unhandledRejection', onLost);
    expect(printed).toEqual([]);
    expect(lost).toEqual([]);
  });
}

/** Servers that are closed after each test. */
export function testServers(): (...scripts: Parameters<typeof sseServer>) => Promise<Recorder> {
  const open: Recorder[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((server) => server.close()));
  });
  return async (...scripts) => {
    const server = await sseServer(...scripts);
    open.push(server);
    return server;
  };
}
