import { cleanText, TerminalCleaner } from './clean.js';

/** What every way to cut a text between two characters gives. */
function cleanInPieces(text: string): Set<string> {
  const results = new Set<string>();
  const chars = [...text];
  for (let cut = 0; cut <= chars.length; cut++) {
    const cleaner = new TerminalCleaner();
    const [head, tail] = [chars.slice(0, cut).join(''), chars.slice(cut).join('')];
    results.add(cleaner.push(head) + cleaner.push(tail) + cleaner.end());
  }
  return results;
}

const cases: readonly [what: string, input: string, shown: string][] = [
  ['plain text stays', 'a\tb\nc ü 😀\n', 'a\tb\nc ü 😀\n'],
  ['colours go', '\x1b[1;31mred\x1b[0m \x1b[38;5;12mx\x1b[m', 'red x'],
  ['8-bit CSI goes', '\x9b31mred\x9b0m', 'red'],
  ['links and titles go, with either end', '\x1b]8;;http://x/\x1b\\link\x1b]8;;\x07 \x1b]0;title\x07end', 'link end'],
  [
    'device control, privacy and application strings go',
    '\x1bPq#0\x1b\\a\x1b^p\x1b\\b\x1b_q\x1b\\c\x1bXr\x1b\\d',
    'abcd',
  ],
  ['a string that never ends costs only its line', 'a\x1b]0;title\nb\n', 'a\nb\n'],
  ['character sets, keypad modes and resets go', '\x1b(B\x1b=\x1b>\x1bca\x1b7b\x1b8', 'ab'],
  ['a broken sequence goes, what follows stays', '\x1b[31\nx\x1b', '\nx'],
  ['bell, NUL and other controls go', 'a\x07b\x00c\x0bd\x7fe\x85f', 'abcdef'],
  ['CRLF is a line end', 'a\r\nb\r\n', 'a\nb\n'],
  ['a redrawn line is there once', ' 10%\r 50%\r100%\ndone', '100%\ndone'],
  ['what a shorter line does not cover stays', 'abcdef\rXY\n', 'XYcdef\n'],
  ['an erased line is empty', 'abc\r\x1b[Kxy\n', 'xy\n'],
  ['erasing with blanks leaves nothing', 'abc\r   \r\n', '\n'],
  ['erase to the left and of the whole line', 'abc\x1b[2D\x1b[1KX\n', ' Xc\n'],
  ['the column can be set', 'downloading\x1b[1G\x1b[0Kdone\n', 'done\n'],
  ['a cursor behind the end fills with blanks', 'a\x1b[3Cb', 'a   b'],
  ['backspace overwrites', 'ab\bc\b\bx', 'xc'],
  ['a spinner leaves its last state', '⠋ a\r⠙ a\r✓ a\n', '✓ a\n'],
  ['wide and combined characters are not broken', '\x1b[1m日本\x1b[0m e\u0301 👩‍👩‍👧', '日本 e\u0301 👩‍👩‍👧'],
  ['a huge movement does not fill the memory', 'a\x1b[999999999Cb', `a${' '.repeat(4096)}b`],
];

test.each(cases)('%s', (_, input, shown) => {
  expect(cleanText(input)).toBe(shown);
});

test.each(cases)('%s, wherever the text is cut in two', (_, input, shown) => {
  expect([...cleanInPieces(input)]).toEqual([shown]);
});

test('a lone surrogate becomes U+FFFD, a pair stays', () => {
  expect(cleanText('a\ud800b\udc00 😀')).toBe('a\ufffdb\ufffd 😀');
});

test('lines are given out when they are finished, the rest is pending', () => {
  const cleaner = new TerminalCleaner();
  expect(cleaner.push('one\ntw')).toBe('one\n');
  expect(cleaner.pending).toBe('tw');
  expect(cleaner.push('o\r\x1b[Kthree')).toBe('');
  expect(cleaner.pending).toBe('three');
  expect(cleaner.end()).toBe('three');
  expect(cleaner.pending).toBe('');
});

test('a line without end does not fill the memory', () => {
  const cleaner = new TerminalCleaner();
  let given = 0;
  for (let i = 0; i < 100; i++) {
    given += cleaner.push('x'.repeat(10_000)).length;
    expect(cleaner.pending.length).toBeLessThan(80_000);
  }
  expect(given + cleaner.end().length).toBe(1_000_000);
});

test('a control string without end does not fill the memory', () => {
  const cleaner = new TerminalCleaner();
  cleaner.push('\x1b]0;');
  for (let i = 0; i < 100; i++) cleaner.push('x'.repeat(1000));
  expect(cleaner.push('\nafter\n')).toMatch(/after\n$/);
});

test('random bytes never leave a control character', () => {
  let seed = 1;
  const next = (limit: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % limit;
  };
  const alphabet = [
    '\x1b',
    '[',
    ']',
    '\\',
    ';',
    '1',
    'm',
    'K',
    'G',
    '\r',
    '\n',
    '\b',
    '\x07',
    '\x9b',
    '\x90',
    'a',
    '😀',
    '\x00',
  ];
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: 60 }, () => alphabet[next(alphabet.length)]).join('');
    const cleaned = cleanText(text);
    expect(cleaned).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    expect([...cleanInPieces(text)]).toEqual([cleaned]);
  }
});
