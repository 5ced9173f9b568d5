// The grep and find tools, over the real ripgrep.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run as find } from '../lib/tools/find.js';
import { run as grep } from '../lib/tools/grep.js';
import { ripgrepPath } from '../lib/tools/search/ripgrep.js';
import { eventually, failure, invoke, markProcesses, start, temporaryFolder, text } from './tools-support.js';

const cwd = temporaryFolder();

function file(name: string, content: string | Uint8Array = 'needle\n', root = cwd): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), content);
}

file('.gitignore', 'node_modules/\nsrc/generated\n*.log\n');
file('.git/config');
file('.github/workflow.yml');
file('node_modules/m/index.js');
file('src/generated/g.ts');
file('debug.log');
file('src/a.ts', 'one\nneedle a\nthree\nfour\nfive\nNeedle b\n');
file('src/deep/b.test.ts', 'needle (x)\r\n');
file('src/deep/c.tsx');
file('readme.md', 'no such thing\n');
file('image.bin', Buffer.from('needle\0\x01'));
mkdirSync(join(cwd, 'empty'));

describe('grep', () => {
  const search = (input: { [key: string]: string | number | boolean }) =>
    text(grep, { pattern: 'needle', ...input }, cwd);

  test('respects .gitignore, looks at hidden files, skips .git and binary files, sorts by path', async () => {
    expect(await search({})).toBe(
      '.github/workflow.yml:1:needle\nsrc/a.ts:2:needle a\nsrc/deep/b.test.ts:1:needle (x)\nsrc/deep/c.tsx:1:needle',
    );
  });

  test('upper and lower case differ unless asked otherwise', async () => {
    expect(await search({ path: 'src/a.ts', ignore_case: true })).toBe('src/a.ts:2:needle a\nsrc/a.ts:6:Needle b');
    expect(await search({ path: 'src/a.ts', pattern: 'Needle' })).toBe('src/a.ts:6:Needle b');
  });

  test('a literal pattern is no expression', async () => {
    expect(await search({ pattern: '(x)', literal: true })).toBe('src/deep/b.test.ts:1:needle (x)');
    expect(await search({ pattern: '-x', literal: true })).toBe('[no matches]');
  });

  test('the end of a line is found before CRLF too', async () => {
    expect(await search({ pattern: '\\(x\\)$' })).toBe('src/deep/b.test.ts:1:needle (x)');
  });

  test('look-around, back-references and patterns over several lines work', async () => {
    expect(await search({ pattern: 'needle(?= a)' })).toBe('src/a.ts:2:needle a');
    expect(await search({ pattern: '(e)\\1dle' })).toContain('src/a.ts:2:needle a');
    expect(await search({ pattern: 'one\\nneedle a' })).toBe('src/a.ts:1:one\nsrc/a.ts:2:needle a');
  });

  test('context has its own mark, and groups are separated', async () => {
    expect(await search({ path: 'src', ignore_case: true, context: 1, glob: 'a.ts' })).toBe(
      'src/a.ts-1-one\nsrc/a.ts:2:needle a\nsrc/a.ts-3-three\n--\nsrc/a.ts-5-five\nsrc/a.ts:6:Needle b',
    );
  });

  test.each([
    ['*.ts', ['src/a.ts', 'src/deep/b.test.ts']],
    ['*.{ts,tsx}', ['src/a.ts', 'src/deep/b.test.ts', 'src/deep/c.tsx']],
    ['src/**', ['src/a.ts', 'src/deep/b.test.ts', 'src/deep/c.tsx']],
    ['src/*.ts', ['src/a.ts']],
    ['./src/**/*.tsx', ['src/deep/c.tsx']],
    ['{src,test}/**/*.test.ts', ['src/deep/b.test.ts']],
    ['*', ['.github/workflow.yml', 'src/a.ts', 'src/deep/b.test.ts', 'src/deep/c.tsx']],
    ['**/*', ['.github/workflow.yml', 'src/a.ts', 'src/deep/b.test.ts', 'src/deep/c.tsx']],
    ['!*.ts', ['.github/workflow.yml', 'src/deep/c.tsx']],
    ['*.log', []],
  ])('the glob %s never brings back what .gitignore excludes', async (glob, files) => {
    const shown = await search({ glob });
    expect(shown === '[no matches]' ? [] : shown.split('\n').map((line) => line.split(':')[0])).toEqual(files);
  });

  test('a folder that is excluded is searched when it is asked for', async () => {
    expect(await search({ path: 'node_modules' })).toBe('node_modules/m/index.js:1:needle');
    expect(await search({ path: 'debug.log' })).toBe('debug.log:1:needle');
  });

  test('paths are relative to the working folder, absolute outside of it', async () => {
    expect(await search({ path: join(cwd, 'src/deep'), glob: '*.tsx' })).toBe('src/deep/c.tsx:1:needle');
    const outside = temporaryFolder();
    file('sub/x.txt', 'needle\n', outside);
    expect(await search({ path: outside, glob: 'sub/*' })).toBe(`${outside}/sub/x.txt:1:needle`);
  });

  test('100 matches are shown, with the context of the last one, and that there are more', async () => {
    file('many.txt', Array.from({ length: 150 }, (_, i) => `hit ${i}\nbetween\n`).join(''));
    const lines = (await search({ pattern: 'hit' })).split('\n');
    expect(lines[99]).toBe('many.txt:199:hit 99');
    expect(lines.slice(100)).toEqual([
      '',
      '[Only the first 100 matching lines are shown; there are more: narrow the search or raise limit.]',
    ]);
    expect(await search({ pattern: 'hit 1', limit: 1, context: 1 })).toBe(
      'many.txt-2-between\nmany.txt:3:hit 1\nmany.txt-4-between\n\n[Only the first 1 matching lines are shown; there are more: narrow the search or raise limit.]',
    );
    expect(await search({ pattern: 'hit 149', limit: 1 })).toBe('many.txt:299:hit 149');
  });

  test('lines are cut after 500 characters, however long they are', async () => {
    file('minified.js', `marker ${'€'.repeat(2_000_000)}\n`);
    file('short.js', `marker ${'€'.repeat(493)}\n`);
    const [long = '', short = ''] = (await search({ pattern: 'marker' })).split('\n');
    expect(long).toMatch(/^minified\.js:1:marker €{493}… \[\d+ more characters\]$/);
    expect(short).toBe(`short.js:1:marker ${'€'.repeat(493)}`);
  });

  test('no more than 50 kB are shown', async () => {
    file('broad.txt', `broad ${'x'.repeat(490)}\n`.repeat(300));
    const shown = await search({ pattern: 'broad', limit: 300 });
    expect(Buffer.byteLength(shown)).toBeLessThan(52_000);
    expect(shown).toMatch(/\[Stopped at 50 kB; there is more: narrow the search\.\]$/);
  });

  test('control characters of a file do not get through', async () => {
    file('escape.txt', 'colour \x1b[31mred\x07\rX\n');
    expect(await search({ pattern: 'colour' })).toBe('escape.txt:1:colour \ufffd[31mred\ufffd\ufffdX');
  });

  test('a bad pattern and a missing path are one line', async () => {
    expect(await failure(grep, { pattern: '(' }, cwd)).toBe(
      'invalid pattern: missing closing parenthesis (set literal to search for plain text)',
    );
    expect(await failure(grep, { pattern: '(?<=a+)b' }, cwd)).toMatch(/^invalid pattern: .*lookbehind/);
    expect(await failure(grep, { pattern: 'x', path: 'nowhere' }, cwd)).toBe(
      'cannot search nowhere: no such file or folder',
    );
    expect(await failure(grep, { pattern: 'x', glob: '/' }, cwd)).toBe('invalid glob "/": it names nothing');
  });

  test('the configuration of the user does not matter', async () => {
    file('ripgreprc', '--files-with-matches\n');
    process.env.RIPGREP_CONFIG_PATH = join(cwd, 'ripgreprc');
    const shown = await search({ path: 'src/a.ts' });
    delete process.env.RIPGREP_CONFIG_PATH;
    expect(shown).toBe('src/a.ts:2:needle a');
  });

  test('a file that is too hard for the pattern does not spoil the search of the others', async () => {
    const root = temporaryFolder();
    file('1-hard', `${'a'.repeat(60)}\n`, root);
    file('2-easy', 'a\n\n', root);
    expect(await text(grep, { pattern: '(a|aa)+(?<!a)$|^(?<=\\b)?$' }, root)).toBe(
      '2-easy:2:\n\n[Not searched: ./1-hard: PCRE2: error matching: match limit exceeded]',
    );
  });

  test('a FIFO is one line and never blocks', async () => {
    execFileSync('mkfifo', [join(cwd, 'fifo')]);
    expect(await failure(grep, { pattern: 'x', path: 'fifo' }, cwd)).toBe(
      'fifo is a named pipe (FIFO), not a regular file',
    );
    rmSync(join(cwd, 'fifo'));
  });

  test('a cancelled search leaves no process', async () => {
    const root = temporaryFolder();
    // Each file keeps the pattern busy until the engine's own limit, for minutes in all.
    for (let i = 0; i < 2000; i++) file(`slow${i}`, `${'a'.repeat(60)}\n`, root);
    const mark = markProcesses();
    const call = start(grep, { pattern: '(a|aa)+(?<!a)$' }, root);
    expect(await eventually(() => mark.left().length > 0)).toBe(true);
    call.abort('cancelled');
    await expect(call.result).rejects.toThrow('aborted');
    expect(mark.left()).toEqual([]);
  });
});

describe('find', () => {
  const look = async (input: { [key: string]: string | number }) => (await text(find, input as never, cwd)).split('\n');

  test.each([
    ['*.ts', ['src/a.ts', 'src/deep/b.test.ts']],
    ['deep', ['src/deep/']],
    ['src/**/*.ts', ['src/a.ts', 'src/deep/b.test.ts']],
    ['src/*', ['src/a.ts', 'src/deep/']],
    ['*/', ['.github/', 'src/', 'src/deep/']],
    ['.git*', ['.github/', '.gitignore']],
    ['c.ts?', ['src/deep/c.tsx']],
    ['*.log', ['[nothing found]']],
    ['empty', ['[nothing found]']],
  ])('%s', async (pattern, results) => {
    const ours = (line: string) => !/^(many|minified|short|broad|escape|ripgreprc)/.test(line);
    expect((await look({ pattern })).filter(ours)).toEqual(results);
  });

  test('patterns are about the path below the folder, results about the working folder', async () => {
    expect(await look({ pattern: 'deep/*.tsx', path: 'src' })).toEqual(['src/deep/c.tsx']);
    const outside = temporaryFolder();
    file('sub/x.txt', '', outside);
    expect(await look({ pattern: '*', path: outside })).toEqual([`${outside}/sub/`, `${outside}/sub/x.txt`]);
  });

  test('a limit is kept and said', async () => {
    const root = temporaryFolder();
    for (let i = 0; i < 1100; i++) file(`d/f${i}`, '', root);
    const shown = (await text(find, { pattern: 'f*' }, root)).split('\n');
    expect(shown).toHaveLength(1002);
    expect(shown.at(-1)).toBe('[The first 1000 are shown; there are more: narrow the pattern or the path.]');
    const exact = await invoke(find, { pattern: 'f*', limit: 1100 }, root);
    expect(exact.details).toEqual({ results: 1100, truncated: false });
  });

  test('a name with a newline stays on one line', async () => {
    const root = temporaryFolder();
    file('a\nb', '', root);
    expect(await text(find, { pattern: '*' }, root)).toBe('"a\\nb"');
  });

  test('a file and a missing folder are one line', async () => {
    expect(await failure(find, { pattern: 'x', path: 'src/a.ts' }, cwd)).toBe('src/a.ts is a file, not a folder');
    expect(await failure(find, { pattern: 'x', path: 'nowhere' }, cwd)).toBe(
      'cannot search nowhere: no such file or folder',
    );
  });
});

test('a missing ripgrep is one clear line', async () => {
  const missing = ripgrepPath(() => Promise.reject(new Error('Cannot find module')));
  await expect(missing).rejects.toThrow(
    `grep and find need the package @vscode/ripgrep-${process.platform}-${process.arch}, which is not installed: install panto again without --omit=optional`,
  );
});
