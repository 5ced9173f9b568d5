// What a conversation looks like to a service, whatever it was before.
import type { AssistantPart, Message, ToolResultPart, TurnRequest } from '../core/types.js';
import { type Dialect, origin, toPrompt } from './prompt.js';

const dialect: Dialect = {
  provider: 'here',
  imagesInResults: true,
  joinTexts: false,
  inputAsText: true,
  longestId: 20,
  toOptions: (data) => data,
};
const prompt = (messages: Message[], more: Partial<Dialect> = {}) => {
  const request: TurnRequest = { system: '', messages, tools: [], options: null };
  return toPrompt(request, { ...dialect, ...more });
};
const call = (id: string, input = '{}', name = 'tool'): AssistantPart => ({ type: 'tool_call', id, name, input });
const result = (id: string, content: ToolResultPart['content'] = 'ok', is_error = false): ToolResultPart => ({
  type: 'tool_result',
  id,
  name: 'tool',
  is_error,
  content,
});
const picture = { type: 'image', data: 'aGk=', mime: 'image/png' } as const;

test('messages of the user in a row become one, empty ones vanish', () => {
  const messages: Message[] = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: [{ type: 'text', text: ' \n' }] },
    { role: 'user', content: '' },
    { role: 'user', content: [{ type: 'text', text: 'two' }, picture] },
  ];
  expect(prompt(messages)).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
        { type: 'file', data: 'aGk=', mediaType: 'image/png' },
      ],
    },
  ]);
  expect(prompt(messages.slice(0, 3).concat({ role: 'user', content: 'two' }), { joinTexts: true })).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'one\n\ntwo' }] },
  ]);
});

test('thinking and the data of parts go back only to the provider that they came from', () => {
  const content: AssistantPart[] = [
    { type: 'thinking', text: 'hm', opaque: { x: { signature: 's' } } },
    { type: 'text', text: 'yes', opaque: { x: { id: 'i' } } },
  ];
  const from = (provider: string) => prompt([{ role: 'assistant', content, opaque: origin(provider, 'm') }]);
  expect(from('here')[0]?.content).toEqual([
    { type: 'reasoning', text: 'hm', providerOptions: { x: { signature: 's' } } },
    { type: 'text', text: 'yes', providerOptions: { x: { id: 'i' } } },
  ]);
  expect(from('elsewhere')[0]?.content).toEqual([{ type: 'text', text: 'yes' }]);
  expect(prompt([{ role: 'assistant', content }])[0]?.content).toEqual([{ type: 'text', text: 'yes' }]);
});

test('ids of calls become what services accept, stay distinct, and results follow them', () => {
  const ids = [
    'functions.read:0',
    'functions_read:0',
    'a-very-long-identifier-of-a-call-1',
    'a-very-long-identifier-of-a-call-2',
    'fine',
  ];
  const made = prompt([
    { role: 'assistant', content: ids.map((id) => call(id)) },
    { role: 'tool', content: ids.map((id) => result(id)) },
  ]);
  const sent = made[0]!.content as { toolCallId: string }[];
  const back = made[1]?.content as { toolCallId: string }[];
  expect(sent.map(({ toolCallId }) => toolCallId)).toEqual(back.map(({ toolCallId }) => toolCallId));
  expect(new Set(sent.map(({ toolCallId }) => toolCallId)).size).toBe(5);
  for (const { toolCallId } of sent) expect(toolCallId).toMatch(/^[A-Za-z0-9_-]{1,20}$/);
  expect(sent.at(-1)?.toolCallId).toBe('fine');
});

test('arguments go back as the model wrote them where the service takes text, else as an object', () => {
  const input = '{ "n": 1.0, "b": 12345678901234567890 }';
  const sent = (text: string, inputAsText: boolean) => {
    const made = prompt([{ role: 'assistant', content: [call('c', text)] }], { inputAsText });
    return (made[0]!.content as { input: unknown }[])[0]?.input;
  };
  expect(sent(input, true)).toBe(input);
  expect(sent(input, false)).toEqual({ n: 1, b: 12345678901234567000 });
  expect(sent('', true)).toEqual({});
  expect(sent('[1]', true)).toEqual({ INVALID_JSON: '[1]' });
  expect(sent('{"a": ', false)).toEqual({ INVALID_JSON: '{"a": ' });
  expect(JSON.stringify(sent('{"__proto__": {"x": 1}}', true))).toBe('{"__proto__":{"x":1}}');
});

test('a name that the model made up is made harmless', () => {
  const made = prompt([{ role: 'assistant', content: [call('c', '{}', 'functions.read file!')] }]);
  expect(made[0]?.content).toMatchObject([{ toolName: 'functions_read_file_' }]);
});

test('failed results are marked, and pictures stay in the result where the service takes them there', () => {
  const made = prompt([
    { role: 'assistant', content: [call('a'), call('b'), call('c')] },
    {
      role: 'tool',
      content: [
        result('a', 'no such file', true),
        result('b', [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ]),
        result('c', [{ type: 'text', text: 'look' }, picture]),
      ],
    },
  ]);
  expect((made[1]!.content as { output: unknown }[]).map(({ output }) => output)).toEqual([
    { type: 'error-text', value: 'no such file' },
    { type: 'text', value: 'one\ntwo' },
    {
      type: 'content',
      value: [
        { type: 'text', text: 'look' },
        { type: 'image-data', data: 'aGk=', mediaType: 'image/png' },
      ],
    },
  ]);
});

test('pictures follow all results of the turn where the service takes only text there', () => {
  const made = prompt(
    [
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'tool', content: [result('a', [picture]), result('b')] },
      { role: 'user', content: 'and now?' },
    ],
    { imagesInResults: false },
  );
  expect(made.map(({ role }) => role)).toEqual(['assistant', 'tool', 'user']);
  expect(made[1]?.content).toMatchObject([
    { toolCallId: 'a', output: { type: 'text', value: 'The picture follows.' } },
    { toolCallId: 'b', output: { type: 'text', value: 'ok' } },
  ]);
  expect(made[2]?.content).toEqual([
    { type: 'text', text: 'The result of tool (a):' },
    { type: 'file', data: 'aGk=', mediaType: 'image/png' },
    { type: 'text', text: 'and now?' },
  ]);
});
