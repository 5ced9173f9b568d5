import { describeInput, failureOf, formatDuration, shorten, summarizeInput } from './tool-line.js';

test('a call is summarized by the argument that says most', () => {
  expect(summarizeInput({ timeout: 3, command: 'npm test' })).toBe('npm test');
  expect(summarizeInput({ content: 'x', path: 'a.txt' })).toBe('a.txt');
  expect(summarizeInput({ times: 3 })).toBe('3');
  expect(summarizeInput({ list: [1, 2] })).toBe('{"list":[1,2]}');
  expect(summarizeInput({})).toBe('');
});

test('a summary is one short line without control sequences', () => {
  const summary = summarizeInput({ command: `echo \x1b[2J\n${'x'.repeat(500)}` });
  expect(summary).toMatch(/^echo {2}⏎ x+…$/);
  expect(summary.length).toBe(80);
});

test('a text is not cut inside a surrogate pair', () => {
  expect(shorten('👍👍👍', 2)).toBe('👍…');
});

test('a question shows every argument', () => {
  expect(describeInput({ path: 'a.txt', content: 'one\ntwo', mode: 7 })).toBe(
    '  path: a.txt\n  content: one ⏎ two\n  mode: 7',
  );
});

test('an argument that is cut in a question says so', () => {
  expect(describeInput({ command: 'y'.repeat(50) }, 10)).toBe(`  command: ${'y'.repeat(9)}… (40 more characters)`);
});

test('durations are written as people read them', () => {
  expect([0, 12.4, 999.4, 999.6, 1234, 59_949, 59_951, 123_000].map(formatDuration)).toEqual([
    '0 ms',
    '12 ms',
    '999 ms',
    '1.0 s',
    '1.2 s',
    '59.9 s',
    '1 min 0 s',
    '2 min 3 s',
  ]);
});

test('a failure is one line: of the error, or the first line of an observation', () => {
  expect(failureOf({ ok: false, error: { kind: 'failed', message: 'no\nsuch \x1b[31mfile' } })).toBe('no ⏎ such file');
  expect(failureOf({ ok: true, isError: true, content: '\nexit status 1\nmore' })).toBe('exit status 1');
  expect(failureOf({ ok: true, content: 'fine' })).toBeUndefined();
});
