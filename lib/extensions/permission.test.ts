import type { ToolCall } from '../core/types.js';
import { type Answer, permissionGate } from './permission.js';

function call(id: string, toolName = 'bash', signal = new AbortController().signal): ToolCall {
  return { id, toolName, owner: 'native', input: '{}', signal, deadline: 0, update: () => undefined };
}
const isReadOnly = (name: string): boolean => name === 'read';

/** An ask that the test answers by hand; `asked` are the ids in the order of the questions. */
function handAnswered(): {
  asked: string[];
  ask: (call: ToolCall) => Promise<Answer>;
  answer: (answer: Answer) => Promise<void>;
} {
  const asked: string[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  return {
    asked,
    ask: ({ id }) => {
      asked.push(id);
      return new Promise((resolve) => waiting.push(resolve));
    },
    answer: async (answer) => {
      waiting.shift()!(answer);
      await settled();
    },
  };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('auto lets everything pass and asks nobody', async () => {
  const gate = permissionGate({ mode: 'auto', isReadOnly, ask: () => Promise.reject(new Error('asked')) });
  expect(await gate(call('1'))).toEqual({});
});

test('read-only lets reading pass and refuses the rest without a question', async () => {
  const gate = permissionGate({ mode: 'read-only', isReadOnly, ask: () => Promise.reject(new Error('asked')) });
  expect(await gate(call('1', 'read'))).toEqual({});
  expect(await gate(call('2'))).toEqual({ refuse: expect.stringMatching(/^bash may change things and .*read-only/) });
});

test('where nobody can be asked, reading passes and the refusal names the flag', async () => {
  const gate = permissionGate({ mode: 'ask', isReadOnly });
  expect(await gate(call('1', 'read'))).toEqual({});
  expect(await gate(call('2'))).toEqual({ refuse: expect.stringContaining('--permission auto') });
});

test('yes is for one call, always for the tool, no refuses', async () => {
  const { asked, ask, answer } = handAnswered();
  const gate = permissionGate({ mode: 'ask', isReadOnly, ask });
  const answered = async (id: string, tool: string, given: Answer): Promise<unknown> => {
    const verdict = gate(call(id, tool));
    await settled();
    await answer(given);
    return verdict;
  };
  expect(await answered('1', 'bash', 'yes')).toEqual({});
  expect(await answered('2', 'bash', 'no')).toEqual({ refuse: 'the person refused this call of bash' });
  expect(await answered('3', 'bash', 'always')).toEqual({});
  expect(await gate(call('4', 'bash'))).toEqual({});
  expect(await answered('5', 'write', 'yes')).toEqual({});
  expect(asked).toEqual(['1', '2', '3', '5']);
});

test('questions of calls that run at once come one after another, in call order', async () => {
  const { asked, ask, answer } = handAnswered();
  const gate = permissionGate({ mode: 'ask', isReadOnly, ask });
  const verdicts = ['1', '2', '3'].map((id) => gate(call(id, `tool-${id}`)));
  await settled();
  expect(asked).toEqual(['1']);
  await answer('no');
  expect(asked).toEqual(['1', '2']);
  await answer('yes');
  expect(asked).toEqual(['1', '2', '3']);
  await answer('yes');
  expect(await Promise.all(verdicts)).toEqual([{ refuse: expect.any(String) }, {}, {}]);
});

test('always answers the questions that are already waiting', async () => {
  const { asked, ask, answer } = handAnswered();
  const gate = permissionGate({ mode: 'ask', isReadOnly, ask });
  const verdicts = ['1', '2', '3'].map((id) => gate(call(id)));
  await settled();
  await answer('always');
  expect(await Promise.all(verdicts)).toEqual([{}, {}, {}]);
  expect(asked).toEqual(['1']);
});

test('a call cancelled while it waits is refused at once and never asked', async () => {
  const { asked, ask, answer } = handAnswered();
  const gate = permissionGate({ mode: 'ask', isReadOnly, ask });
  const first = gate(call('1'));
  const cancel = new AbortController();
  const second = gate(call('2', 'write', cancel.signal));
  await settled();
  cancel.abort();
  expect(await second).toEqual({ refuse: expect.stringContaining('cancelled') });
  await answer('yes');
  expect(await first).toEqual({});
  expect(asked).toEqual(['1']);
});

test('a call cancelled while it is asked is refused at once; the next question waits for the screen', async () => {
  const { asked, ask, answer } = handAnswered();
  const gate = permissionGate({ mode: 'ask', isReadOnly, ask });
  const cancel = new AbortController();
  const first = gate(call('1', 'bash', cancel.signal));
  const second = gate(call('2', 'write'));
  await settled();
  cancel.abort();
  expect(await first).toEqual({ refuse: expect.stringContaining('cancelled') });
  expect(asked).toEqual(['1']);
  await answer('always');
  expect(asked).toEqual(['1', '2']);
  await answer('yes');
  expect(await second).toEqual({});
});

test('a question that fails, or gives no known answer, refuses its call and no other', async () => {
  const answers: (() => Promise<Answer>)[] = [
    () => Promise.reject(new Error('the terminal is gone')),
    () => Promise.resolve('maybe' as Answer),
    () => Promise.resolve('yes'),
  ];
  const gate = permissionGate({ mode: 'ask', isReadOnly, ask: () => answers.shift()!() });
  const verdicts = await Promise.all(['1', '2', '3'].map((id) => gate(call(id))));
  expect(verdicts).toEqual([
    { refuse: 'bash could not be permitted: the terminal is gone' },
    { refuse: expect.any(String) },
    {},
  ]);
});

test('an error in the look-up of a tool refuses the call', async () => {
  const gate = permissionGate({
    mode: 'ask',
    isReadOnly: () => {
      throw new Error('no such tool');
    },
  });
  expect(await gate(call('1'))).toEqual({ refuse: 'bash could not be permitted: no such tool' });
});
