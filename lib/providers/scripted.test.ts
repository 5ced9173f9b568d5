import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Provider, TurnEvent } from '../core/types.js';
import { createScriptedProvider, playScript } from './scripted.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'panto-scripted-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function script(text: string): Promise<string> {
  const file = join(directory, 'script.json');
  await writeFile(file, text);
  return file;
}

async function collect(provider: Provider, signal = new AbortController().signal): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  const request = { system: '', messages: [], tools: [], options: {} };
  for await (const event of provider.stream(request, signal)) events.push(event);
  return events;
}

test('turns are streamed in pieces that add up, one turn a request', async () => {
  const file = await script(
    JSON.stringify({
      turns: [
        {
          thinking: 'Let me think.',
          text: 'Grüße 👋🏽 an alle',
          tool_calls: [
            { name: 'read', input: { path: 'README.md' } },
            { name: 'read', input_text: '{"path":', id: 'mine' },
          ],
          usage: { input: 12, output: 3, cacheRead: 4 },
        },
        { text: 'Done.', stop: 'length' },
      ],
    }),
  );
  const provider = await createScriptedProvider(file);
  expect(provider.id).toBe(`scripted:${file}`);
  const events = await collect(provider);
  const joined = (type: 'text' | 'thinking') =>
    events.flatMap((event) => (event.type === type ? [event.delta] : [])).join('');
  expect(joined('text')).toBe('Grüße 👋🏽 an alle');
  expect(joined('thinking')).toBe('Let me think.');
  expect(events.filter((event) => event.type === 'text')).toHaveLength(4);
  expect(events.at(-1)).toEqual({
    type: 'done',
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', text: 'Let me think.' },
        { type: 'text', text: 'Grüße 👋🏽 an alle' },
        { type: 'tool_call', id: 'call_1_1', name: 'read', input: '{"path":"README.md"}' },
        { type: 'tool_call', id: 'mine', name: 'read', input: '{"path":' },
      ],
    },
    usage: { input: 12, output: 3, cacheRead: 4 },
    stop: 'tool_calls',
  });
  expect((await collect(provider)).at(-1)).toMatchObject({ type: 'done', stop: 'length' });
  await expect(collect(provider)).rejects.toThrow('the script has no answer to request 3: it has only 2 turns');
});

test('a delayed turn ends at once when it is aborted', async () => {
  const controller = new AbortController();
  const turn = collect(playScript({ turns: [{ text: 'late', delay_ms: 60_000 }] }), controller.signal);
  controller.abort();
  await expect(turn).rejects.toMatchObject({ name: 'AbortError' });
});

test.each([
  ['{"turns": [', /Unexpected end of JSON|Expected/],
  ['[]', /must be object/],
  ['{}', /must have required property 'turns'/],
  ['{"turns":[{"txt":"x"}]}', /\/turns\/0: unknown property 'txt'/],
  ['{"turns":[{"stop":"soon"}]}', /\/turns\/0\/stop: must be one of \["end",/],
  ['{"turns":[{"tool_calls":[{"input":{}}]}]}', /\/turns\/0\/tool_calls\/0: must have required property 'name'/],
])('the script %s is refused in one line with the file and the cause', async (text, cause) => {
  const file = await script(text);
  const error = await createScriptedProvider(file).catch((thrown: Error) => thrown);
  const message = error instanceof Error ? error.message : '';
  expect(message.startsWith(`scripted:${file}: `)).toBe(true);
  expect(message).toMatch(cause);
  expect(message).not.toContain('\n');
});

test('a script that is not there is refused with its name', async () => {
  await expect(createScriptedProvider(join(directory, 'nowhere.json'))).rejects.toThrow(/nowhere\.json: ENOENT/);
});
