import type { AgentEvent, CallResult } from '../core/types.js';
import { createStyle } from './style.js';
import { Transcript } from './transcript.js';

function transcribe(events: AgentEvent[]): string {
  let text = '';
  const sink = {
    write: (piece: string) => {
      text += piece;
    },
    get atLineStart() {
      return text === '' || text.endsWith('\n');
    },
  };
  const transcript = new Transcript({ sink, style: createStyle(false) });
  for (const event of events) transcript.onEvent(event);
  return text;
}
const say = (delta: string): AgentEvent => ({ type: 'delta', event: { type: 'text', delta } });
const call = (id: string, command: string): AgentEvent => ({
  type: 'tool_call',
  id,
  name: 'bash',
  input: { command },
  at: 0,
});
const settle = (id: string, result: CallResult, endedMs = 12): AgentEvent => ({
  type: 'tool_result',
  id,
  name: 'bash',
  result,
  startedMs: 0,
  endedMs,
});
const ok: CallResult = { ok: true, content: 'fine' };

test('a call that runs alone is one line: name, argument, time, outcome', () => {
  expect(
    transcribe([
      say('Looking.'),
      call('1', 'ls'),
      settle('1', ok),
      say('Done.'),
      { type: 'agent_end', reason: 'done' },
    ]),
  ).toBe('Looking.\n● bash ls  12 ms ok\nDone.\n');
});

test('calls that overlap are told apart when they settle in another order', () => {
  expect(transcribe([call('1', 'one'), call('2', 'two'), settle('2', ok), settle('1', ok, 2000)])).toBe(
    '● bash one\n● bash two  12 ms ok\n  bash one  2.0 s ok\n',
  );
});

test('a failed call names its cause, a failed run too', () => {
  expect(
    transcribe([
      call('1', 'false'),
      settle('1', { ok: true, isError: true, content: 'exit status 1\n' }),
      { type: 'agent_end', reason: 'failed', error: { kind: 'failed', message: 'overloaded' } },
    ]),
  ).toBe('● bash false  12 ms error: exit status 1\nerror: overloaded\n');
});

test('no control sequence of the model, split over deltas or not, is printed', () => {
  expect(
    transcribe([say('a\x1b]0;ti'), say('tle\x07b'), say('\x1b[2'), say('Jc'), { type: 'agent_end', reason: 'done' }]),
  ).toBe('abc\n');
});

test('what a tool shows to the person is printed, and cut when it is long', () => {
  const display = Array.from({ length: 25 }, (_, index) => `line ${index}`).join('\n');
  const text = transcribe([call('1', 'x'), settle('1', { ok: true, content: 'for the model', display })]);
  expect(text).toContain('  line 19\n  … 5 more lines\n');
  expect(text).not.toContain('for the model');
});
