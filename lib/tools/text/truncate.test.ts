import {
  formatBytes,
  headBytes,
  splitLines,
  tailBytes,
  truncateHead,
  truncateLine,
  truncateTail,
  utf8Length,
} from './truncate.js';

const samples = ['', 'abc', 'äöü€', '😀a😀', 'a\ud800b', '\udc00', 'x'.repeat(100)];

test('the length in bytes is the one of the encoded text', () => {
  for (const sample of samples) expect(utf8Length(sample)).toBe(Buffer.byteLength(sample));
});

test('a cut by bytes is the longest that fits and never splits a character', () => {
  for (const sample of samples.filter((text) => !/\p{Surrogate}/u.test(text))) {
    const chars = [...sample];
    for (let limit = 0; limit <= Buffer.byteLength(sample); limit++) {
      const heads = chars
        .map((_, i) => chars.slice(0, i + 1).join(''))
        .filter((head) => Buffer.byteLength(head) <= limit);
      const tails = chars.map((_, i) => chars.slice(i).join('')).filter((tail) => Buffer.byteLength(tail) <= limit);
      expect(headBytes(sample, limit)).toBe(heads.at(-1) ?? '');
      expect(tailBytes(sample, limit)).toBe(tails[0] ?? '');
    }
  }
});

test('what is within the limits is left alone, but for the last newline', () => {
  expect(truncateHead('a\nb\n')).toEqual({
    text: 'a\nb',
    truncated: false,
    lines: 2,
    totalLines: 2,
    totalBytes: 4,
    partialLine: false,
  });
  expect(truncateTail('')).toEqual({
    text: '',
    truncated: false,
    lines: 0,
    totalLines: 0,
    totalBytes: 0,
    partialLine: false,
  });
});

test('lines are cut at the limit, from either side', () => {
  const text = 'a\nb\nc\nd\n';
  expect(truncateHead(text, { maxLines: 2 })).toMatchObject({
    text: 'a\nb',
    truncated: true,
    by: 'lines',
    lines: 2,
    totalLines: 4,
  });
  expect(truncateTail(text, { maxLines: 2 })).toMatchObject({
    text: 'c\nd',
    truncated: true,
    by: 'lines',
    lines: 2,
    totalLines: 4,
  });
  expect(truncateHead(text, { maxLines: 4 }).truncated).toBe(false);
});

test('bytes are cut between lines, and the newline between them counts', () => {
  expect(truncateHead('aa\nbb\ncc', { maxBytes: 5 })).toMatchObject({ text: 'aa\nbb', by: 'bytes', lines: 2 });
  expect(truncateHead('aa\nbb\ncc', { maxBytes: 4 })).toMatchObject({ text: 'aa', by: 'bytes', lines: 1 });
  expect(truncateTail('aa\nbb\ncc', { maxBytes: 5 })).toMatchObject({ text: 'bb\ncc', by: 'bytes', lines: 2 });
});

test('a single line over the limit is cut within', () => {
  expect(truncateHead('ääää\nb', { maxBytes: 5 })).toMatchObject({
    text: 'ää',
    partialLine: true,
    lines: 1,
    totalLines: 2,
  });
  expect(truncateTail('b\nääää', { maxBytes: 5 })).toMatchObject({
    text: 'ää',
    partialLine: true,
    lines: 1,
    totalLines: 2,
  });
});

test('a long line says how much of it is missing, counted in characters', () => {
  expect(truncateLine('😀😀😀', 3)).toBe('😀😀😀');
  expect(truncateLine('😀😀😀', 2)).toBe('😀😀… [1 more characters]');
});

test('sizes are readable', () => {
  expect([0, 1, 1023, 1024, 51200, 1024 * 1024 * 3.75].map(formatBytes)).toEqual([
    '0 bytes',
    '1 byte',
    '1023 bytes',
    '1.0 kB',
    '50.0 kB',
    '3.8 MB',
  ]);
});

test('lines are counted by their newlines', () => {
  expect(['', '\n', 'a', 'a\n', 'a\n\n', '\na'].map((text) => splitLines(text).length)).toEqual([0, 1, 1, 1, 2, 2]);
});
