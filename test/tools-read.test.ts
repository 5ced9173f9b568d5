// The read and ls tools.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { run as ls } from '../lib/tools/ls.js';
import { run as read } from '../lib/tools/read.js';
import { failure, invoke, start, temporaryFolder, text, textOf } from './tools-support.js';

const cwd = temporaryFolder();

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(join(cwd, name), content);
  return name;
}

const show = (path: string, window: { offset?: number; limit?: number } = {}) => text(read, { path, ...window }, cwd);
const refuse = (path: string, window: { offset?: number } = {}) => failure(read, { path, ...window }, cwd);

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('text', () => {
  test('comes exactly as it is, tabs included', async () => {
    expect(await show(file('tabs.go', 'func f() {\n\treturn\t1  \n}\n'))).toBe('func f() {\n\treturn\t1  \n}');
  });

  test('a window says what it is and how to read on', async () => {
    const lines = Array.from({ length: 10 }, (_, i) => `line ${i + 1}`);
    file('ten', `${lines.join('\n')}\n`);
    expect(await show('ten', { offset: 3, limit: 2 })).toBe(
      'line 3\nline 4\n\n[Lines 3-4 of 10 are shown. Read on with offset=5.]',
    );
    expect(await show('ten', { offset: 9 })).toBe(
      'line 9\nline 10\n\n[Lines 9-10 of 10 are shown, to the end of the file.]',
    );
    expect(await show('ten', { limit: 10 })).toBe(lines.join('\n'));
    expect(await refuse('ten', { offset: 11 })).toBe('offset 11 is behind the end: ten has 10 lines');
  });

  test('at most 2000 lines are shown, whatever the limit', async () => {
    file('many', Array.from({ length: 2001 }, (_, i) => `${i + 1}\n`).join(''));
    const shown = (await show('many', { limit: 5000 })).split('\n');
    expect(shown[1999]).toBe('2000');
    expect(shown.at(-1)).toBe('[Lines 1-2000 of 2001 are shown. Read on with offset=2001.]');
    expect(await show('many', { offset: 2001 })).toMatch(/^2001\n/);
  });

  test('at most 50 kB are shown, in whole lines, and reading on gives every line once', async () => {
    const lines = Array.from({ length: 1500 }, (_, i) => `${i}:${'ü'.repeat(i % 90)}`);
    file('wide', lines.join('\n'));
    const seen: string[] = [];
    for (let offset = 1; offset <= lines.length; offset = seen.length + 1) {
      const [body = ''] = (await show('wide', { offset })).split('\n\n[');
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(50 * 1024);
      seen.push(...body.split('\n'));
    }
    expect(seen).toEqual(lines);
  });

  test('exactly 50 kB are shown whole, one byte more is not', async () => {
    const line = `${'x'.repeat(51199)}\n`;
    expect(await show(file('fits', `a${line}`))).toBe(`a${line.trimEnd()}`);
    expect(await show(file('over', `ab${line}`))).toMatch(
      /\[Line 1 is longer than 50 kB; its first 51200 bytes are shown\./,
    );
  });

  test('a line that is too long is cut between characters, and the command for the rest is right', async () => {
    file('long', `first\n${'€'.repeat(40_000)}\nlast\n`);
    const [body = '', note = ''] = (await show('long', { offset: 2 })).split('\n\n');
    expect(body).toBe('€'.repeat(17_066));
    expect(note).toContain('The next line is offset=3.');
    const command = /bash: (.*?) \|? ?head/.exec(note)?.[1]?.replace('FILE', 'long') ?? '';
    const rest = execFileSync('bash', ['-c', command], { cwd, encoding: 'utf8' });
    expect(body + rest).toBe(`${'€'.repeat(40_000)}\n`);
  });

  test('a byte order mark is not shown (E19)', async () => {
    expect(await show(file('bom', '\ufeffhello\n'))).toBe('hello');
  });

  test('CRLF is shown as LF and mentioned, a bare CR is kept', async () => {
    expect(await show(file('crlf', 'a\r\nb\rc\r\n'))).toBe('a\nb\rc\n\n[Lines end in CRLF.]');
  });

  test('bytes that are no UTF-8 are replaced and mentioned', async () => {
    expect(await show(file('latin1', Buffer.from('Stra\xdfe und mehr Text\n', 'latin1')))).toBe(
      'Stra\ufffde und mehr Text\n\n[Some bytes are not UTF-8 and shown as \ufffd; edit will refuse this file.]',
    );
    expect(await show(file('replacement', 'a real \ufffd here'))).toBe('a real \ufffd here');
  });

  test('an empty file is said to be empty', async () => {
    expect(await show(file('empty', ''))).toBe('[empty is empty (0 bytes)]');
    expect(await show(file('only-bom', '\ufeff'))).toBe('[only-bom is empty (3 bytes)]');
    expect(await show(file('newline', '\n'))).toBe('');
  });

  test('a file without a size, as in /proc, is read', async () => {
    expect(await show('/proc/self/status')).toMatch(/^Name:/);
  });

  test('a part of a file of 200 MB is read without reading it whole', async () => {
    const path = join(cwd, 'huge');
    const line = `${'0123456789'.repeat(10)}\n`;
    const block = Buffer.from(line.repeat(10_000));
    const fd = openSync(path, 'w');
    for (let i = 0; i < 198; i++) writeSync(fd, block);
    closeSync(fd);
    const before = process.memoryUsage().rss;
    expect(await show('huge', { offset: 500_001, limit: 2 })).toBe(
      `${line}${line}\n[Lines 500001-500002 are shown. Read on with offset=500003.]`,
    );
    expect(await show('huge', { offset: 1_980_000 })).toMatch(
      /\[Lines 1980000-1980000 of 1980000 are shown, to the end of the file\.\]$/,
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * 1024 * 1024);
  });

  test('paths are relative to the working folder, absolute or below the home folder', async () => {
    file('here', 'x');
    expect(await show(join(cwd, 'here'))).toBe('x');
    expect(await refuse('~/no-such-file-of-panto')).toBe('cannot read ~/no-such-file-of-panto: no such file or folder');
    expect(textOf((await invoke(ls, { path: '~' }, cwd)).content)).toBe(
      textOf((await invoke(ls, { path: homedir() }, cwd)).content).replace(homedir(), '~'),
    );
  });
});

describe('what is no text', () => {
  test.each([
    ['png', PNG, 'image/png'],
    ['jpg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 1]), 'image/jpeg'],
    ['gif', Buffer.from('GIF89a\x01\x00'), 'image/gif'],
    ['webp', Buffer.from('RIFF\x04\x00\x00\x00WEBPVP8 '), 'image/webp'],
  ])('a %s comes as an image, known by its first bytes', async (type, data, mime) => {
    const { content } = await invoke(read, { path: file(`picture-${type}.txt`, data) }, cwd);
    expect(content).toEqual([
      { type: 'text', text: `[picture-${type}.txt: ${mime}, ${data.length} bytes]` },
      { type: 'image', data: data.toString('base64'), mime },
    ]);
  });

  test('an image that no provider takes is refused', async () => {
    file('big.png', Buffer.concat([PNG, Buffer.alloc(5_000_000)]));
    expect(await refuse('big.png')).toBe('big.png is an image of 4.8 MB; the limit is 3.8 MB: make it smaller first');
  });

  test.each([
    ['zip', Buffer.from('PK\x03\x04\x14\x00\x00\x00\x08\x00')],
    ['ods', Buffer.from('PK\x03\x04\x14\x00\x00\x08\x00\x00mimetypeapplication/vnd.oasis')],
    ['sqlite', Buffer.from('SQLite format 3\x00\x10\x00')],
    ['pdf', Buffer.from('%PDF-1.7\n1 0 obj\n')],
    ['koi8', Buffer.from([0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4, 0x20, 0xcd, 0xc9, 0xd2])],
  ])('a binary file (%s) is one line (E15)', async (type, data) => {
    expect(await refuse(file(`binary.${type}`, data))).toBe(
      `binary.${type} is a binary file (not UTF-8 text): inspect it with bash (file, strings, xxd)`,
    );
  });

  test('a NUL behind the first 8 kB is noticed when it would be shown', async () => {
    file('late', `${'text\n'.repeat(2000)}a\0b\n`);
    expect(await show('late', { limit: 10 })).toMatch(/^text\n/);
    expect(await refuse('late', { offset: 1990 })).toMatch(/^late is a binary file/);
  });

  test('UTF-16 is refused with the way out (E19)', async () => {
    file('utf16', Buffer.from('\ufeffhello', 'utf16le'));
    expect(await refuse('utf16')).toBe(
      'utf16 is UTF-16 text; only UTF-8 is supported: convert it with bash (iconv -f UTF-16 -t UTF-8)',
    );
  });

  test('folders, FIFOs, devices, sockets and missing files are one line and never block', async () => {
    mkdirSync(join(cwd, 'folder'));
    execFileSync('mkfifo', [join(cwd, 'fifo')]);
    symlinkSync('circle', join(cwd, 'circle'));
    const server = createServer().listen(join(cwd, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await refuse('folder')).toBe('folder is a folder, not a file: use ls to see what is in it');
    expect(await refuse('fifo')).toBe('fifo is a named pipe (FIFO), not a regular file');
    expect(await refuse('/dev/zero')).toBe('/dev/zero is a device, not a regular file');
    expect(await refuse('socket')).toBe('cannot read socket: is a socket or a device, not a file');
    expect(await refuse('nothing/here')).toBe('cannot read nothing/here: no such file or folder');
    expect(await refuse('circle')).toBe('cannot read circle: symbolic links that lead in a circle');
    expect(await refuse(`${file('plain', 'x')}/y`)).toBe(
      'cannot read plain/y: a part of the path is a file, not a folder',
    );
    expect(await refuse('a\0b')).toBe('path contains a NUL character: "a\\u0000b"');
    server.close();
  });

  test('a cancelled call ends', async () => {
    const call = start(read, { path: file('cancelled', 'x') }, cwd);
    call.abort('cancelled');
    await expect(call.result).rejects.toThrow('aborted');
  });
});

describe('ls', () => {
  const list = (input: { path?: string; limit?: number }) => text(ls, input, cwd);

  test('names are sorted, hidden ones are there, folders and links are marked', async () => {
    const folder = join(cwd, 'listing');
    mkdirSync(join(folder, 'sub'), { recursive: true });
    for (const name of ['b', 'B', 'a', '.hidden', 'new\nline']) writeFileSync(join(folder, name), '');
    symlinkSync('sub', join(folder, 'link'));
    symlinkSync('nowhere', join(folder, 'dangling'));
    expect(await list({ path: 'listing' })).toBe(
      '.hidden\nB\na\nb\ndangling -> nowhere\nlink -> sub/\n"new\\nline"\nsub/',
    );
  });

  test('the limit is kept and said', async () => {
    const folder = join(cwd, 'crowd');
    mkdirSync(folder);
    for (let i = 0; i < 600; i++) writeFileSync(join(folder, `f${String(i).padStart(3, '0')}`), '');
    const lines = (await list({ path: 'crowd' })).split('\n');
    expect(lines[499]).toBe('f499');
    expect(lines.slice(500)).toEqual([
      '',
      '[500 of 600 entries shown. See more with a larger limit, or narrow it with find.]',
    ]);
    expect((await list({ path: 'crowd', limit: 600 })).split('\n')).toHaveLength(600);
  });

  test('an empty folder, a file and a missing folder are one line', async () => {
    mkdirSync(join(cwd, 'void'));
    expect(await list({ path: 'void' })).toBe('[void is an empty folder]');
    expect(await failure(ls, { path: file('leaf', 'x') }, cwd)).toBe('leaf is a file, not a folder: use read');
    expect(await failure(ls, { path: 'missing' }, cwd)).toBe('cannot list missing: no such file or folder');
  });
});
