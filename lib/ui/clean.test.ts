import { cleanLine, cleanText, createCleaner } from './clean.js';

const attacks: [what: string, text: string, shown: string][] = [
  ['colours', 'a\x1b[31mred\x1b[0m', 'ared'],
  ['cursor movement and erasing', 'a\x1b[2J\x1b[1;1Hb', 'ab'],
  ['private modes', 'a\x1b[?1049hb', 'ab'],
  ['a title ended by BEL', 'a\x1b]0;title\x07b', 'ab'],
  ['a clipboard write ended by ST', 'a\x1b]52;c;aGk=\x1b\\b', 'ab'],
  ['a hyperlink, whose text stays', '\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\', 'text'],
  ['a device control string', 'a\x1bPq#0\x1b\\b', 'ab'],
  ['8-bit CSI and OSC', 'a\u009b31mb\u009d0;t\u009cc', 'abc'],
  ['charset selection and reset', 'a\x1b(0b\x1bcd', 'abd'],
  ['backspaces and bells', 'a\b\x07b', 'ab'],
  ['a carriage return over the line', 'safe\rrm -rf', 'safe\nrm -rf'],
  ['CRLF', 'a\r\nb', 'a\nb'],
  ['tab and newline, which stay', 'a\tb\n', 'a\tb\n'],
  ['an unterminated title, whose text stays visible', 'a\x1b]0;rest of the text', 'a]0;rest of the text'],
  ['an ESC at the end', 'a\x1b', 'a'],
  ['other scripts and emoji, which stay', 'żółć 漢字 👍🏽', 'żółć 漢字 👍🏽'],
];

test.each(attacks)('cleaned text has no %s', (_what, text, shown) => {
  expect(cleanText(text)).toBe(shown);
});

test.each(attacks)('text that comes character by character is cleaned as in one piece: %s', (_what, text, shown) => {
  const cleaner = createCleaner();
  const pieces = [...text].map((character) => cleaner.push(character));
  expect(pieces.join('') + cleaner.end()).toBe(shown);
});

test('a piece is shown at once unless it ends inside a sequence', () => {
  const cleaner = createCleaner();
  expect(cleaner.push('hello \x1b[3')).toBe('hello ');
  expect(cleaner.push('1mworld')).toBe('world');
});

test('a sequence that never ends does not hold the text back for ever', () => {
  const cleaner = createCleaner();
  const shown = cleaner.push(`\x1b]0;${'x'.repeat(10_000)}`);
  expect(shown).toContain('x'.repeat(5_000));
});

test('a label is one line, and characters that reorder text are written out', () => {
  expect(cleanLine('  rm\n-rf\t/ \u202efdp.exe ')).toBe('rm ⏎ -rf / \\u{202e}fdp.exe');
});
