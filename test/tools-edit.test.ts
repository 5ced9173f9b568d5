// The write and edit tools.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { distUrl } from '../lib/core/package-root.js';
import type { Json } from '../lib/core/types.js';
import { run as edit } from '../lib/tools/edit.js';
import { run as read } from '../lib/tools/read.js';
import { run as write } from '../lib/tools/write.js';
import { failure, invoke, start, temporaryFolder, text, textOf } from './tools-support.js';

const cwd = temporaryFolder();
const path = (name: string) => join(cwd, name);
const content = (name: string) => readFileSync(path(name), 'latin1');

function file(name: string, data: string, mode?: number): string {
  writeFileSync(path(name), Buffer.from(data, 'utf8'));
  if (mode !== undefined) chmodSync(path(name), mode);
  return name;
}

/** One edit. */
function change(name: string, old_text: string, new_text: string, more: { replace_all?: boolean } = {}) {
  return invoke(edit, { path: name, edits: [{ old_text, new_text, ...more }] }, cwd);
}

/** The text of an edit that is refused; the file must be as before. */
async function refused(name: string, input: { [key: string]: Json }): Promise<string> {
  const before = content(name);
  const result = await invoke(edit, { path: name, ...input }, cwd);
  expect(result.isError).toBe(true);
  expect(content(name)).toBe(before);
  return textOf(result.content);
}

/** Writes in a process that has no rights of root. */
function writeAsNobody(target: string): string {
  const script = `
    import { run } from ${JSON.stringify(distUrl('tools/write').href)};
    if (process.getuid() === 0) {
      process.setgroups([]);
      process.setgid(65534);
      process.setuid(65534);
    }
    const call = { id: '1', cwd: '/', signal: new AbortController().signal, update() {} };
    const input = { path: ${JSON.stringify(target)}, content: 'new content' };
    console.log(await run(input, call).then((result) => result.content, (error) => error.message));`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).trim();
}

describe('write', () => {
  test('creates a file with its folders, replaces a file, and says which', async () => {
    expect(await text(write, { path: 'new/deep/file', content: 'a\nb\n' }, cwd)).toBe(
      'Created new/deep/file (2 lines, 4 bytes)',
    );
    expect(await text(write, { path: 'new/deep/file', content: '' }, cwd)).toBe(
      'Replaced the content of new/deep/file (0 lines, 0 bytes)',
    );
    expect(content('new/deep/file')).toBe('');
  });

  test('writes exactly what it is given', async () => {
    const given = '\ufeffa\r\nb\nc\rd\0\u2028 😀';
    await invoke(write, { path: 'exact', content: given }, cwd);
    expect(readFileSync(path('exact'))).toEqual(Buffer.from(given));
  });

  test('leaves nothing else in the folder', async () => {
    mkdirSync(path('clean'));
    await invoke(write, { path: 'clean/a', content: 'x' }, cwd);
    await invoke(write, { path: 'clean/a', content: 'y' }, cwd);
    expect(readdirSync(path('clean'))).toEqual(['a']);
  });

  test('a reader never sees half a file', async () => {
    const [a, b] = ['a'.repeat(2_000_000), 'b'.repeat(2_000_000)] as const;
    file('whole', a);
    let writing = true;
    const reads = (async () => {
      const seen = new Set<string>();
      while (writing) {
        const now = readFileSync(path('whole'), 'utf8');
        seen.add(`${now[0]}${now.at(-1)}${now.length}`);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return seen;
    })();
    for (let i = 0; i < 10; i++) await invoke(write, { path: 'whole', content: i % 2 ? a : b }, cwd);
    writing = false;
    for (const seen of await reads) expect(['aa2000000', 'bb2000000']).toContain(seen);
  });

  test('follows a link, keeps it, and creates the target of a dangling one (E20)', async () => {
    file('target', 'old', 0o640);
    symlinkSync('target', path('link'));
    symlinkSync('link', path('link-to-link'));
    await invoke(write, { path: 'link-to-link', content: 'new' }, cwd);
    expect(readlinkSync(path('link'))).toBe('target');
    expect(readlinkSync(path('link-to-link'))).toBe('link');
    expect(content('target')).toBe('new');
    expect(statSync(path('target')).mode & 0o777).toBe(0o640);

    symlinkSync('later/target', path('dangling'));
    await invoke(write, { path: 'dangling', content: 'made' }, cwd);
    expect(lstatSync(path('dangling')).isSymbolicLink()).toBe(true);
    expect(content('later/target')).toBe('made');
  });

  test('follows a link that leaves the project (E20)', async () => {
    const outside = temporaryFolder();
    symlinkSync(join(outside, 'file'), path('way-out'));
    const result = await invoke(write, { path: 'way-out', content: 'x' }, cwd);
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('x');
    expect(result.details).toMatchObject({ path: join(outside, 'file'), created: true });
  });

  test('a new file gets the mode that the umask allows, an old one keeps its own', async () => {
    const umask = process.umask(0o027);
    await invoke(write, { path: 'masked', content: 'x' }, cwd);
    process.umask(umask);
    expect(statSync(path('masked')).mode & 0o777).toBe(0o640);
    file('script', '#!/bin/sh\n', 0o4755);
    await invoke(write, { path: 'script', content: '#!/bin/sh\necho\n' }, cwd);
    expect(statSync(path('script')).mode & 0o7777).toBe(0o4755);
  });

  test('hard links stay links (E20)', async () => {
    file('one', 'a longer old content');
    linkSync(path('one'), path('two'));
    await invoke(write, { path: 'two', content: 'short' }, cwd);
    expect(content('one')).toBe('short');
    expect(statSync(path('one')).ino).toBe(statSync(path('two')).ino);
  });

  test('folders, FIFOs, files as folders and circles are one line', async () => {
    mkdirSync(path('folder'));
    file('leaf', 'x');
    execFileSync('mkfifo', [path('fifo')]);
    symlinkSync('circle', path('circle'));
    const line = (name: string) => failure(write, { path: name, content: 'x' }, cwd);
    expect(await line('folder')).toBe('folder is a folder, not a file: use ls to see what is in it');
    expect(await line('fifo')).toBe('fifo is a named pipe (FIFO), not a regular file');
    expect(await line('leaf/x')).toBe('cannot write leaf/x: a part of the path is a file, not a folder');
    expect(await line('circle')).toBe('cannot write circle: symbolic links that lead in a circle');
    expect(await line('x'.repeat(300))).toMatch(/: the name is too long$/);
  });

  test('a file that may not be written is refused, one in a folder that may not be written is written', async () => {
    const folder = temporaryFolder();
    for (const [name, mode] of [
      ['forbidden', 0o444],
      ['allowed', 0o666],
    ] as const) {
      writeFileSync(join(folder, name), 'old');
      chmodSync(join(folder, name), mode);
    }
    const attempt = (name: string) => writeAsNobody(join(folder, name));
    chmodSync(folder, 0o777);
    expect(attempt('forbidden')).toBe(`cannot write ${folder}/forbidden: permission denied`);
    expect(attempt('new')).toMatch(/^Created /);
    chmodSync(folder, 0o555);
    expect(attempt('allowed')).toMatch(/^Replaced /);
    expect(attempt('another')).toBe(`cannot write ${folder}/another: permission denied`);
    chmodSync(folder, 0o777);
    expect(readdirSync(folder).toSorted()).toEqual(['allowed', 'forbidden', 'new']);
    expect(readFileSync(join(folder, 'allowed'), 'utf8')).toBe('new content');
    expect(readFileSync(join(folder, 'forbidden'), 'utf8')).toBe('old');
  });

  test('a cancelled call writes nothing', async () => {
    const call = start(
      async (input, native) => {
        await Promise.resolve();
        return write(input, native);
      },
      { path: 'cancelled', content: 'x' },
      cwd,
    );
    call.abort('cancelled');
    await expect(call.result).rejects.toThrow('aborted');
    expect(existsSync(path('cancelled'))).toBe(false);
  });
});

describe('edit', () => {
  test('several edits are matched against the original, in any order', async () => {
    file('multi', 'one two three\n');
    const result = await invoke(
      edit,
      {
        path: 'multi',
        edits: [
          { old_text: 'three', new_text: 'one' },
          { old_text: 'one', new_text: 'two' },
        ],
      },
      cwd,
    );
    expect(content('multi')).toBe('two two one\n');
    expect(textOf(result.content)).toBe('Made 2 replacements in multi, the first in line 1.');
  });

  test('a single edit may be given without a list', async () => {
    file('single', 'a b\n');
    await invoke(edit, { path: 'single', old_text: 'a', new_text: 'x' }, cwd);
    expect(content('single')).toBe('x b\n');
    expect(await failure(edit, { path: 'single', old_text: 'a' }, cwd)).toBe(
      'old_text and new_text belong together: one is missing',
    );
    expect(await failure(edit, { path: 'single' }, cwd)).toBe('nothing to do: give edits, or old_text and new_text');
  });

  test('replace_all replaces every occurrence', async () => {
    file('all', 'a a\na\r\n');
    await change('all', 'a', 'bb', { replace_all: true });
    expect(content('all')).toBe('bb bb\nbb\r\n');
  });

  test('special characters of patterns and replacements mean nothing', async () => {
    file('special', 'f(.*) $1\n');
    await change('special', '(.*) $1', '$& $$ \\1');
    expect(content('special')).toBe('f$& $$ \\1\n');
  });

  test('the result has a unified diff, as Markdown and in details', async () => {
    file('diffed', 'a\nb ```\nc\n');
    const result = await change('diffed', 'c', 'd');
    const diff = '--- diffed\n+++ diffed\n@@ -1,3 +1,3 @@\n a\n b ```\n-c\n+d';
    expect(result.display).toBe(`\`\`\`\`diff\n${diff}\n\`\`\`\``);
    expect(result.details).toMatchObject({ diff, replacements: 1, first_line: 3 });
  });

  test('the diff of a very large change is cut', async () => {
    file('large', 'x\n'.repeat(20_000));
    const result = await change('large', 'x', 'y', { replace_all: true });
    expect(content('large')).toBe('y\n'.repeat(20_000));
    expect(Buffer.byteLength(JSON.stringify(result.details))).toBeLessThan(120_000);
  });
});

describe('edit refuses, and changes nothing', () => {
  test('a passage that is there several times, with their lines', async () => {
    file('twice', 'x = 1\ny\nx = 1\n');
    expect(await refused('twice', { edits: [{ old_text: 'x = 1', new_text: 'z' }] })).toBe(
      'old_text is in twice 2 times (lines 1, 3): add lines around it to make it unique, or set replace_all',
    );
    file('overlapping', 'aaa\n');
    expect(await refused('overlapping', { edits: [{ old_text: 'aa', new_text: 'b' }] })).toContain('2 times');
  });

  test('a passage that is not there, with the nearest lines', async () => {
    file('near', 'import a\n\nfunction greet(name) {\n  return `Hello $name`;\n}\n');
    expect(
      await refused('near', {
        edits: [{ old_text: 'function greet(nane) {\n  return `Hallo $name`;', new_text: 'x' }],
      }),
    ).toBe(
      'old_text was not found in near. The nearest is lines 3-4:\nfunction greet(name) {\n  return `Hello $name`;',
    );
    expect(await refused('near', { edits: [{ old_text: 'qqq zzz', new_text: 'x' }] })).toBe(
      'old_text was not found in near, nor anything like it: read the file again',
    );
  });

  test('a passage with other blanks, and says so', async () => {
    file('blanks', 'a {\n\tb\n}\n');
    expect(await refused('blanks', { edits: [{ old_text: 'a {\n    b\n}', new_text: 'x' }] })).toBe(
      'old_text was not found in blanks. They differ in blanks only (indentation, tabs, trailing blanks). The nearest is lines 1-3:\na {\n\tb\n}',
    );
  });

  test('all edits if one of them is wrong, with every problem', async () => {
    file('some', 'one\ntwo\n');
    const edits = [
      { old_text: 'one', new_text: '1' },
      { old_text: 'six', new_text: '6' },
      { old_text: '', new_text: 'x' },
      { old_text: 'two', new_text: 'two' },
    ];
    expect(await refused('some', { edits })).toBe(
      [
        'edits[1].old_text was not found in some, nor anything like it: read the file again',
        'edits[2].old_text is empty: give the text to replace, or use write for a new file',
        'edits[3].old_text and its new_text are the same: there is nothing to change',
        'Nothing was changed.',
      ].join('\n'),
    );
  });

  test('edits that overlap', async () => {
    file('overlap', 'one\ntwo three\n');
    const edits = [
      { old_text: 'two three', new_text: 'x' },
      { old_text: 'one\ntwo', new_text: 'y' },
    ];
    expect(await refused('overlap', { edits })).toBe(
      'edits[1].old_text and edits[0].old_text overlap in line 2: join them into one edit\nNothing was changed.',
    );
  });

  test('a file that is not valid UTF-8, UTF-16, a binary file, an image', async () => {
    const line = async (name: string, data: Buffer) => {
      writeFileSync(path(name), data);
      const message = await failure(edit, { path: name, old_text: 'a', new_text: 'b' }, cwd);
      expect(readFileSync(path(name))).toEqual(data);
      return message;
    };
    expect(await line('latin1', Buffer.from('Stra\xdfe a lot of text', 'latin1'))).toBe(
      'latin1 is not valid UTF-8 and would be damaged: convert it with bash (iconv) or change it with sed',
    );
    expect(await line('late', Buffer.concat([Buffer.from('a\n'.repeat(10_000)), Buffer.from([0xff])]))).toMatch(
      /^late is not valid UTF-8/,
    );
    expect(await line('utf16', Buffer.from('\ufeffa', 'utf16le'))).toMatch(/^utf16 is UTF-16 text/);
    expect(await line('nul', Buffer.from('a\0'))).toMatch(/^nul is a binary file/);
    expect(await line('gif', Buffer.from('GIF89a'))).toBe('gif is an image (image/gif), not text');
  });

  test('a file that is not there', async () => {
    expect(await failure(edit, { path: 'absent', old_text: 'a', new_text: 'b' }, cwd)).toBe(
      'cannot read absent: no such file or folder',
    );
  });
});

describe('edit keeps every other byte', () => {
  test('mixed line ends and a bare CR stay, the old text may have LF (E17)', async () => {
    file('mixed', 'one\r\ntwo\nthree\rfour\r\nfive word\r\nsix\r\n');
    await change('mixed', 'two\nthree\rfour\nfive word\nsix', 'two\nthree\rfour\nfive other\nsix');
    expect(content('mixed')).toBe('one\r\ntwo\nthree\rfour\r\nfive other\r\nsix\r\n');
  });

  test('new lines get the line ends of their place', async () => {
    file('windows', 'a\r\nb\r\nc\r\n');
    await change('windows', 'b\n', 'b\nnew 1\nnew 2\n');
    expect(content('windows')).toBe('a\r\nb\r\nnew 1\r\nnew 2\r\nc\r\n');
    await change('windows', 'c', 'c\nd');
    expect(content('windows')).toBe('a\r\nb\r\nnew 1\r\nnew 2\r\nc\r\nd\r\n');
    await change('windows', 'new 1\nnew 2\n', '');
    expect(content('windows')).toBe('a\r\nb\r\nc\r\nd\r\n');
    file('half', 'a\nb\nx\r\ny\r\n');
    await change('half', 'a', 'a\na');
    await change('half', 'y', 'y\ny');
    expect(content('half')).toBe('a\na\nb\nx\r\ny\r\ny\r\n');
  });

  test('CRLF given for a file with LF matches and is not written; CRLF in the new text alone is', async () => {
    file('unix', 'a\nb\nc\n');
    await change('unix', 'a\r\nb', 'a\r\nB');
    expect(content('unix')).toBe('a\nB\nc\n');
    await change('unix', 'c\n', 'c\r\n');
    expect(content('unix')).toBe('a\nB\nc\r\n');
  });

  test('a position behind many CRLFs is the right one', async () => {
    const lines = Array.from({ length: 500 }, (_, i) => `line ${i}.`);
    file('positions', lines.join('\r\n'));
    await change('positions', 'line 250.\nline 251.', 'X\nY');
    lines.splice(250, 2, 'X', 'Y');
    expect(content('positions')).toBe(lines.join('\r\n'));
  });

  test('what read shows of a file with tabs can be edited (E18)', async () => {
    file('main.go', 'package main\n\nfunc main() {\n\tif true {\n\t\tprintln("a")\n\t}\n}\n');
    const shown = (await text(read, { path: 'main.go', offset: 4, limit: 3 }, cwd)).split('\n\n[')[0] ?? '';
    await change('main.go', shown, shown.replace('"a"', '"b"'));
    expect(content('main.go')).toBe('package main\n\nfunc main() {\n\tif true {\n\t\tprintln("b")\n\t}\n}\n');
  });

  test('a byte order mark stays (E19)', async () => {
    file('bom', '\ufeffhello\r\nworld\r\n');
    expect(await text(read, { path: 'bom' }, cwd)).toBe('hello\nworld\n\n[Lines end in CRLF.]');
    await change('bom', 'hello\n', 'bye\n');
    expect(content('bom')).toBe('\xef\xbb\xbfbye\r\nworld\r\n');
  });

  test('mode, links and hard links stay (E20)', async () => {
    file('run.sh', 'echo a\n', 0o755);
    symlinkSync('run.sh', path('run-link'));
    await change('run-link', 'a', 'b');
    expect(lstatSync(path('run-link')).isSymbolicLink()).toBe(true);
    expect(statSync(path('run.sh')).mode & 0o777).toBe(0o755);
    expect(content('run.sh')).toBe('echo b\n');
    linkSync(path('run.sh'), path('run-hard'));
    await change('run-hard', 'b', 'c');
    expect(content('run.sh')).toBe('echo c\n');
    expect(statSync(path('run.sh')).ino).toBe(statSync(path('run-hard')).ino);
  });

  test('random edits change their passage only', async () => {
    let seed = 7;
    const next = (limit: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % limit;
    };
    for (let round = 0; round < 60; round++) {
      const lines = Array.from({ length: 12 }, (_, i) => ({ text: `l${i}é`, end: next(2) ? '\r\n' : '\n' }));
      const join = (from: typeof lines) => from.map((line) => line.text + line.end).join('');
      file('random', join(lines));
      const at = next(9);
      const old_text = lines
        .slice(at, at + 3)
        .map((line) => `${line.text}\n`)
        .join('');
      await change('random', old_text, old_text.replace(`l${at + 1}é`, 'changed'));
      const expected = lines.map((line, i) => (i === at + 1 ? { ...line, text: 'changed' } : line));
      expect(readFileSync(path('random'), 'utf8')).toBe(join(expected));
    }
  });
});
