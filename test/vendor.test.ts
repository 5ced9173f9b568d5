// scripts/vendor as a user runs it: what is fetched, verified, unpacked, and what is refused.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  archive,
  archiveOf,
  dir,
  origin,
  refused,
  run,
  running,
  sha256,
  sourceOf,
  upstream,
  vendored,
  vendorFolder,
} from './vendor-harness.js';

test('a source with the right hash is unpacked and its origin is printed and recorded', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  const result = await run([sourceOf([{ url: `${upstream.base}/one.tar.gz`, sha256: sha256(content) }])]);
  expect(result).toEqual({ status: 0, stdout: `vendor: one 1.0 from ${upstream.base}/one.tar.gz\n`, errors: [] });
  expect(readFileSync(vendored('one/src/one.c'), 'utf8')).toBe('int one;\n');
  expect(origin()).toEqual({ version: '1.0', from: `${upstream.base}/one.tar.gz`, sha256: sha256(content) });
  expect(vendorFolder()).toEqual(['one']);
});

test('a second run opens no connection and leaves everything as it is', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  const sources = [sourceOf([{ url: `${upstream.base}/one.tar.gz`, sha256: sha256(content) }])];
  await run(sources);
  expect(upstream.connections).toBe(1);
  const result = await run(sources);
  expect(result).toEqual({ status: 0, stdout: 'vendor: all 1 sources are in place\n', errors: [] });
  expect(upstream.connections).toBe(1);
});

test('a source that lost a file, or whose pin moved, is fetched again', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  const sources = [sourceOf([{ url: `${upstream.base}/one.tar.gz`, sha256: sha256(content) }])];
  await run(sources);
  rmSync(vendored('one/src/one.c'));
  await run(sources);
  expect(readFileSync(vendored('one/src/one.c'), 'utf8')).toBe('int one;\n');
  const newer = archiveOf({ 'src/one.c': 'int two;\n' });
  upstream.answer = (_request, response) => response.end(newer);
  await run([sourceOf([{ url: `${upstream.base}/one.tar.gz`, sha256: sha256(newer) }])]);
  expect(readFileSync(vendored('one/src/one.c'), 'utf8')).toBe('int two;\n');
  expect(existsSync(vendored('one/LICENSE'))).toBe(false);
});

test('a wrong hash stops with one line, and no source is unpacked', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  const wrong = sha256('something else');
  const good = { url: `${upstream.base}/good.tar.gz`, sha256: sha256(content) };
  const result = await run([
    sourceOf([good], 'good'),
    sourceOf([{ url: `${upstream.base}/one.tar.gz`, sha256: wrong }, good]),
  ]);
  expect(result.status).toBe(1);
  expect(result.errors).toEqual([
    `vendor: one 1.0 from ${upstream.base}/one.tar.gz: sha256 is ${sha256(content)}, expected ${wrong}; nothing was unpacked`,
  ]);
  expect(vendorFolder()).toEqual([]);
});

test('a shortened file has a wrong hash, a connection cut short sends to the next origin', async () => {
  const content = archive();
  upstream.answer = (request, response) => {
    if (request.url === '/whole') response.end(content);
    else if (request.url === '/short') response.end(content.subarray(0, 50));
    else
      response
        .writeHead(200, { 'content-length': content.length })
        .write(content.subarray(0, 50), () => response.destroy());
  };
  const hash = sha256(content);
  const short = await run([
    sourceOf([
      { url: `${upstream.base}/short`, sha256: hash },
      { url: `${upstream.base}/whole`, sha256: hash },
    ]),
  ]);
  expect(short.status).toBe(1);
  expect(short.errors).toEqual([expect.stringContaining(`expected ${hash}`)]);
  const alone = await run([sourceOf([{ url: `${upstream.base}/cut`, sha256: hash }])]);
  expect(alone.errors).toEqual([`vendor: one 1.0 from ${upstream.base}/cut: the connection ended after 50 bytes`]);
  const cut = await run([
    sourceOf([
      { url: `${upstream.base}/cut`, sha256: hash },
      { url: `${upstream.base}/whole`, sha256: hash },
    ]),
  ]);
  expect(cut).toEqual({ status: 0, stdout: `vendor: one 1.0 from ${upstream.base}/whole\n`, errors: [] });
});

test('where no origin can be had there is one line for each', async () => {
  const result = await run([
    sourceOf([
      { url: refused, sha256: '0' },
      { url: `${upstream.base}/gone`, sha256: '0' },
      { debian: 'pool/one.tar.gz', sha256: '0' },
    ]),
  ]);
  expect(result.status).toBe(1);
  expect(result.errors).toEqual([
    `vendor: one 1.0 from ${refused}: connect ECONNREFUSED 127.0.0.1:1`,
    `vendor: one 1.0 from ${upstream.base}/gone: HTTP status 404`,
    'vendor: one 1.0 from the Debian pool (pool/one.tar.gz): apt names no Debian mirror on this machine',
  ]);
  expect(vendorFolder()).toEqual([]);
});

test('an origin that stays silent is given up', async () => {
  upstream.answer = () => {};
  const result = await run([sourceOf([{ url: `${upstream.base}/silent`, sha256: '0' }])], {
    args: ['--timeout', '0.3'],
  });
  expect(result.status).toBe(1);
  expect(result.errors).toEqual([`vendor: one 1.0 from ${upstream.base}/silent: no answer in time`]);
});

test('redirects are followed, though not in circles', async () => {
  const content = archive();
  upstream.answer = (request, response) => {
    if (request.url === '/end') response.end(content);
    else response.writeHead(302, { location: request.url === '/start' ? '/end' : '/circle' }).end();
  };
  const hash = sha256(content);
  const result = await run([
    sourceOf([
      { url: `${upstream.base}/circle`, sha256: hash },
      { url: `${upstream.base}/start`, sha256: hash },
    ]),
  ]);
  expect(result.status).toBe(0);
  const circle = await run([sourceOf([{ url: `${upstream.base}/circle`, sha256: hash }], 'other')]);
  expect(circle.errors).toEqual([`vendor: other 1.0 from ${upstream.base}/circle: more than 5 redirects`]);
});

test('a .tar.xz and a .deb are unpacked; links in the .deb become files', async () => {
  const xz = archiveOf({ 'src/one.c': 'int one;\n' }, '-cJf');
  const files = join(dir, 'deb');
  mkdirSync(join(files, 'usr/lib/5.4/two'), { recursive: true });
  mkdirSync(join(files, 'usr/lib/5.1'), { recursive: true });
  writeFileSync(join(files, 'usr/lib/5.1/a.lua'), 'return 1\n');
  symlinkSync('../../5.1/a.lua', join(files, 'usr/lib/5.4/two/a.lua'));
  execFileSync('tar', ['-cJf', join(dir, 'data.tar.xz'), '-C', files, './usr']);
  const deb = arOf({
    'debian-binary': Buffer.from('2.0\n'),
    'control.tar.xz': Buffer.from('odd'),
    'data.tar.xz': readFileSync(join(dir, 'data.tar.xz')),
  });
  upstream.answer = (request, response) => response.end(request.url === '/xz' ? xz : deb);
  const result = await run([
    sourceOf([{ url: `${upstream.base}/xz`, sha256: sha256(xz), format: 'tar.xz' }]),
    {
      name: 'two',
      version: '2',
      needs: ['lua/a.lua'],
      origins: [
        { url: `${upstream.base}/deb`, sha256: sha256(deb), format: 'deb', take: { 'usr/lib/5.4/two': 'lua' } },
      ],
    },
  ]);
  expect(result.errors).toEqual([]);
  expect(readFileSync(vendored('one/src/one.c'), 'utf8')).toBe('int one;\n');
  rmSync(files, { recursive: true });
  expect(readFileSync(vendored('two/lua/a.lua'), 'utf8')).toBe('return 1\n');
});

test('an archive without the files that the pins need is refused by name', async () => {
  const content = archiveOf({ 'other.c': '' });
  upstream.answer = (_request, response) => response.end(content);
  const result = await run([sourceOf([{ url: `${upstream.base}/one`, sha256: sha256(content) }])]);
  expect(result.status).toBe(1);
  expect(result.errors).toEqual([`vendor: one 1.0 from ${upstream.base}/one: src/one.c is not in it`]);
  expect(vendorFolder()).toEqual([]);
});

test('what a killed run left behind is removed by the next, and a running one is left alone', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  const gone = spawn(process.execPath, ['-e', '0']);
  await new Promise((done) => gone.on('close', done));
  const alive = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  running.push(alive);
  for (const { pid } of [gone, alive]) mkdirSync(vendored(`.staging-${pid}-abc`), { recursive: true });
  await run([sourceOf([{ url: `${upstream.base}/one`, sha256: sha256(content) }])]);
  expect(vendorFolder().sort()).toEqual([`.staging-${alive.pid}-abc`, 'one']);
});

test('two runs at once both succeed', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  const sources = [sourceOf([{ url: `${upstream.base}/one`, sha256: sha256(content) }])];
  const results = await Promise.all([run(sources), run(sources)]);
  expect(results.map(({ status, errors }) => [status, errors])).toEqual([
    [0, []],
    [0, []],
  ]);
  expect(vendorFolder()).toEqual(['one']);
});

test('bad usage has status 2, an unreadable pins file is named', async () => {
  const usage = await run([], { args: ['--frob'] });
  expect(usage.status).toBe(2);
  expect(usage.errors[0]).toContain("Unknown option '--frob'");
  const absent = await run([], { args: ['--pins', join(dir, 'absent.json')] });
  expect(absent.status).toBe(1);
  expect(absent.errors).toEqual([expect.stringContaining(join(dir, 'absent.json'))]);
});

/** ar(5): a magic line, then 60 bytes of header before each member; an odd member is padded. */
function arOf(members: Record<string, Buffer>): Buffer {
  const parts = Object.entries(members).flatMap(([name, data]) => [
    Buffer.from(
      `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(data.length).padEnd(10)}\`\n`,
    ),
    data,
    Buffer.from(data.length % 2 ? '\n' : ''),
  ]);
  return Buffer.concat([Buffer.from('!<arch>\n'), ...parts]);
}
