import { createPasteSplitter, PasteStore } from './paste.js';

test('a paste is told from the keys around it', () => {
  const split = createPasteSplitter();
  expect(split('a\x1b[200~one\rtwo\x1b[201~b')).toEqual([
    { kind: 'keys', text: 'a' },
    { kind: 'paste', text: 'one\ntwo' },
    { kind: 'keys', text: 'b' },
  ]);
});

test('a paste that comes in many reads, even with its end mark cut, is one paste', () => {
  const split = createPasteSplitter();
  const inputs = ['\x1b[200~on', 'e\n', 'two\x1b[2', '01~x'].flatMap((chunk) => split(chunk));
  expect(inputs).toEqual([
    { kind: 'paste', text: 'one\ntwo' },
    { kind: 'keys', text: 'x' },
  ]);
});

test('an escape inside a paste that is no end mark stays in it', () => {
  const split = createPasteSplitter();
  const inputs = ['\x1b[200~a\x1b', 'b\x1b[201~'].flatMap((chunk) => split(chunk));
  expect(inputs).toEqual([{ kind: 'paste', text: 'a\x1bb' }]);
});

test('several lines stand in the input as a placeholder and are sent in full', () => {
  const store = new PasteStore();
  const held = store.hold('one\ntwo\n');
  expect(held).toBe('[pasted #1: 2 lines]');
  expect(store.expand(`look: ${held} and [pasted #9: 1 lines]`)).toBe('look: one\ntwo\n and [pasted #9: 1 lines]');
});

test('one line is pasted as it is, without its control characters', () => {
  const store = new PasteStore();
  expect(store.hold('npm\ttest\x03')).toBe('npm  test');
  expect(store.hold('with a newline at its end\n')).toBe('with a newline at its end');
});
