// scripts/vendor as a user runs it, against a server on the loopback and pins of the test's own.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { packageRoot } from '../lib/core/package-root.js';

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex');

let dir: string;
let server: Server;
let base: string;
let requests: string[];
let connections: number;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const running: ChildProcess[] = [];
const servers: Server[] = [];
const tunnelled: Duplex[] = [];

/** Listens on a free port of the loopback and is closed after the test. */
async function listen(listener: RequestListener, tls?: { key: Buffer; cert: Buffer }): Promise<Server> {
  const made = (tls ? createTlsServer(tls, listener) : createServer(listener)) as Server;
  servers.push(made);
  await new Promise<void>((done) => made.listen(0, '127.0.0.1', done));
  return made;
}

const portOf = (made: Server) => (made.address() as AddressInfo).port;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'panto-vendor-'));
  requests = [];
  connections = 0;
  server = await listen((request, response) => {
    requests.push(request.url ?? '');
    answer(request, response);
  });
  server.on('connection', () => connections++);
  base = `http://127.0.0.1:${portOf(server)}`;
  answer = (_request, response) => response.writeHead(404).end();
  configureApt({});
});

afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  for (const socket of tunnelled.splice(0)) socket.destroy();
  for (const made of servers.splice(0)) {
    made.closeAllConnections();
    await new Promise((done) => made.close(done));
  }
  rmSync(dir, { recursive: true, force: true });
});

interface Outcome {
  status: number;
  stdout: string;
  errors: string[];
}

const environment = (extra: Record<string, string> = {}) => ({
  PATH: process.env.PATH,
  HOME: dir,
  APT_CONFIG: join(dir, 'apt.conf'),
  ...extra,
});

function run(sources: unknown[], extra: { env?: Record<string, string>; args?: string[] } = {}): Promise<Outcome> {
  writeFileSync(join(dir, 'pins.json'), JSON.stringify({ sources }));
  const args = ['--dir', join(dir, 'vendor'), '--pins', join(dir, 'pins.json'), ...(extra.args ?? [])];
  return new Promise((done) => {
    execFile(join(packageRoot, 'scripts/vendor'), args, { env: environment(extra.env) }, (error, stdout, stderr) => {
      done({ status: error ? Number(error.code) : 0, stdout, errors: stderr.split('\n').filter(Boolean) });
    });
  });
}

/** An apt configuration of its own: file name below sources.list.d to content. */
function configureApt(files: Record<string, string>): void {
  const parts = join(dir, 'apt/sources.list.d');
  mkdirSync(parts, { recursive: true });
  writeFileSync(join(dir, 'apt.conf'), `Dir::Etc "${join(dir, 'apt')}";\nDir::Etc::sourceparts "${parts}";\n`);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(parts, name), text);
}

/** Packs `files` below one top folder, as source archives are. */
function archiveOf(files: Record<string, string>, flag = '-czf'): Buffer {
  const folder = mkdtempSync(join(dir, 'archive-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'top', name)), { recursive: true });
    writeFileSync(join(folder, 'top', name), text);
  }
  execFileSync('tar', [flag, join(folder, 'a.tar'), '-C', folder, 'top']);
  return readFileSync(join(folder, 'a.tar'));
}

const archive = () => archiveOf({ 'src/one.c': 'int one;\n', LICENSE: 'free\n' });

function sourceOf(origins: unknown[], name = 'one'): unknown {
  const take = { '.': '.' };
  const complete = origins.map((origin) => ({ format: 'tar.gz', take, ...(origin as object) }));
  return { name, version: '1.0', licence: 'MIT', purpose: 'a test', needs: ['src/one.c'], origins: complete };
}

const vendored = (name: string) => join(dir, 'vendor', name);
const vendorFolder = () => (existsSync(join(dir, 'vendor')) ? readdirSync(join(dir, 'vendor')) : []);
const origin = (name = 'one') => JSON.parse(readFileSync(vendored(`${name}/.origin.json`), 'utf8')) as { from: string };

const refused = 'http://127.0.0.1:1/one.tar.gz';

test('a source with the right hash is unpacked and its origin is printed and recorded', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  const result = await run([sourceOf([{ url: `${base}/one.tar.gz`, sha256: sha256(content) }])]);
  expect(result).toEqual({ status: 0, stdout: `vendor: one 1.0 from ${base}/one.tar.gz\n`, errors: [] });
  expect(readFileSync(vendored('one/src/one.c'), 'utf8')).toBe('int one;\n');
  expect(origin()).toEqual({ version: '1.0', from: `${base}/one.tar.gz`, sha256: sha256(content) });
  expect(vendorFolder()).toEqual(['one']);
});

test('a second run opens no connection and leaves everything as it is', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  const sources = [sourceOf([{ url: `${base}/one.tar.gz`, sha256: sha256(content) }])];
  await run(sources);
  expect(connections).toBe(1);
  const result = await run(sources);
  expect(result).toEqual({ status: 0, stdout: 'vendor: all 1 sources are in place\n', errors: [] });
  expect(connections).toBe(1);
});

test('a source that lost a file, or whose pin moved, is fetched again', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  const sources = [sourceOf([{ url: `${base}/one.tar.gz`, sha256: sha256(content) }])];
  await run(sources);
  rmSync(vendored('one/src/one.c'));
  await run(sources);
  expect(readFileSync(vendored('one/src/one.c'), 'utf8')).toBe('int one;\n');
  const newer = archiveOf({ 'src/one.c': 'int two;\n' });
  answer = (_request, response) => response.end(newer);
  await run([sourceOf([{ url: `${base}/one.tar.gz`, sha256: sha256(newer) }])]);
  expect(readFileSync(vendored('one/src/one.c'), 'utf8')).toBe('int two;\n');
  expect(existsSync(vendored('one/LICENSE'))).toBe(false);
});

test('a wrong hash stops with one line, and no source is unpacked', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  const wrong = sha256('something else');
  const good = { url: `${base}/good.tar.gz`, sha256: sha256(content) };
  const result = await run([sourceOf([good], 'good'), sourceOf([{ url: `${base}/one.tar.gz`, sha256: wrong }, good])]);
  expect(result.status).toBe(1);
  expect(result.errors).toEqual([
    `vendor: one 1.0 from ${base}/one.tar.gz: sha256 is ${sha256(content)}, expected ${wrong}; nothing was unpacked`,
  ]);
  expect(vendorFolder()).toEqual([]);
});

test('a shortened file has a wrong hash, a connection cut short sends to the next origin', async () => {
  const content = archive();
  answer = (request, response) => {
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
      { url: `${base}/short`, sha256: hash },
      { url: `${base}/whole`, sha256: hash },
    ]),
  ]);
  expect(short.status).toBe(1);
  expect(short.errors).toEqual([expect.stringContaining(`expected ${hash}`)]);
  const alone = await run([sourceOf([{ url: `${base}/cut`, sha256: hash }])]);
  expect(alone.errors).toEqual([`vendor: one 1.0 from ${base}/cut: the connection ended after 50 bytes`]);
  const cut = await run([
    sourceOf([
      { url: `${base}/cut`, sha256: hash },
      { url: `${base}/whole`, sha256: hash },
    ]),
  ]);
  expect(cut).toEqual({ status: 0, stdout: `vendor: one 1.0 from ${base}/whole\n`, errors: [] });
});

test('an upstream that is down gives way to the Debian pool of the mirror in deb822 form', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  configureApt({
    'debian.sources': `Types: deb
# A comment inside a stanza
URIs: ${base}/debian/
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: ${base}/security
Suites: trixie-security
Components: main

Enabled: no
Types: deb
URIs: ${base}/disabled
Suites: trixie
Components: main

Types: deb
URIs: ${base}/third-party
Suites: stable
Components: main
Signed-By:
 /usr/share/keyrings/example.gpg
`,
  });
  const result = await run([
    sourceOf([
      { url: refused, sha256: sha256(content) },
      { debian: 'pool/main/o/one_1.0.orig.tar.gz', sha256: sha256(content) },
    ]),
  ]);
  expect(result.errors).toEqual([]);
  expect(result.status).toBe(0);
  expect(requests).toEqual(['/debian/pool/main/o/one_1.0.orig.tar.gz']);
  expect(origin().from).toBe(`${base}/debian/pool/main/o/one_1.0.orig.tar.gz`);
});

test('the mirrors of one-line lists are tried in order, without the password in what is printed', async () => {
  const content = archive();
  answer = (request, response) => {
    const isAllowed = request.headers.authorization === `Basic ${Buffer.from('me:secret').toString('base64')}`;
    if (request.url?.startsWith('/private/') && isAllowed) response.end(content);
    else response.writeHead(404).end();
  };
  const withPassword = base.replace('//', '//me:secret@');
  configureApt({
    'a.list': `# deb ${base}/commented trixie main
deb [arch=amd64 signed-by=/usr/share/keyrings/example.gpg] ${base}/third-party stable main
deb [arch=amd64] ${base}/contrib-only trixie contrib
deb ${base}/first bookworm main contrib # the nearest
deb-src ${withPassword}/private bookworm main
`,
  });
  const result = await run([sourceOf([{ debian: 'pool/one.tar.gz', sha256: sha256(content) }])]);
  expect(result).toEqual({ status: 0, stdout: `vendor: one 1.0 from ${base}/private/pool/one.tar.gz\n`, errors: [] });
  expect(requests).toEqual(['/first/pool/one.tar.gz', '/private/pool/one.tar.gz']);
  expect(readFileSync(vendored('one/.origin.json'), 'utf8')).not.toContain('secret');
});

test('a mirror list in a file is read', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  writeFileSync(join(dir, 'mirrors'), `${base}/listed/ priority:1\n`);
  configureApt({
    'debian.sources': `Types: deb\nURIs: mirror+file://${join(dir, 'mirrors')}\nSuites: sid\nComponents: main\n`,
  });
  await run([sourceOf([{ debian: 'pool/one.tar.gz', sha256: sha256(content) }])]);
  expect(requests).toEqual(['/listed/pool/one.tar.gz']);
});

test('where no origin can be had there is one line for each', async () => {
  const result = await run([
    sourceOf([
      { url: refused, sha256: '0' },
      { url: `${base}/gone`, sha256: '0' },
      { debian: 'pool/one.tar.gz', sha256: '0' },
    ]),
  ]);
  expect(result.status).toBe(1);
  expect(result.errors).toEqual([
    `vendor: one 1.0 from ${refused}: connect ECONNREFUSED 127.0.0.1:1`,
    `vendor: one 1.0 from ${base}/gone: HTTP status 404`,
    'vendor: one 1.0 from the Debian pool (pool/one.tar.gz): apt names no Debian mirror on this machine',
  ]);
  expect(vendorFolder()).toEqual([]);
});

test('an origin that stays silent is given up', async () => {
  answer = () => {};
  const result = await run([sourceOf([{ url: `${base}/silent`, sha256: '0' }])], { args: ['--timeout', '0.3'] });
  expect(result.status).toBe(1);
  expect(result.errors).toEqual([`vendor: one 1.0 from ${base}/silent: no answer in time`]);
});

test('redirects are followed, though not in circles', async () => {
  const content = archive();
  answer = (request, response) => {
    if (request.url === '/end') response.end(content);
    else response.writeHead(302, { location: request.url === '/start' ? '/end' : '/circle' }).end();
  };
  const hash = sha256(content);
  const result = await run([
    sourceOf([
      { url: `${base}/circle`, sha256: hash },
      { url: `${base}/start`, sha256: hash },
    ]),
  ]);
  expect(result.status).toBe(0);
  const circle = await run([sourceOf([{ url: `${base}/circle`, sha256: hash }], 'other')]);
  expect(circle.errors).toEqual([`vendor: other 1.0 from ${base}/circle: more than 5 redirects`]);
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
  answer = (request, response) => response.end(request.url === '/xz' ? xz : deb);
  const result = await run([
    sourceOf([{ url: `${base}/xz`, sha256: sha256(xz), format: 'tar.xz' }]),
    {
      name: 'two',
      version: '2',
      needs: ['lua/a.lua'],
      origins: [{ url: `${base}/deb`, sha256: sha256(deb), format: 'deb', take: { 'usr/lib/5.4/two': 'lua' } }],
    },
  ]);
  expect(result.errors).toEqual([]);
  expect(readFileSync(vendored('one/src/one.c'), 'utf8')).toBe('int one;\n');
  rmSync(files, { recursive: true });
  expect(readFileSync(vendored('two/lua/a.lua'), 'utf8')).toBe('return 1\n');
});

test('an archive without the files that the pins need is refused by name', async () => {
  const content = archiveOf({ 'other.c': '' });
  answer = (_request, response) => response.end(content);
  const result = await run([sourceOf([{ url: `${base}/one`, sha256: sha256(content) }])]);
  expect(result.status).toBe(1);
  expect(result.errors).toEqual([`vendor: one 1.0 from ${base}/one: src/one.c is not in it`]);
  expect(vendorFolder()).toEqual([]);
});

test("uv's headers come from a Node installation of the right major only", async () => {
  const nodedir = join(dir, 'node');
  const include = join(nodedir, 'include/node');
  mkdirSync(join(include, 'uv'), { recursive: true });
  writeFileSync(join(include, 'node_version.h'), '#define NODE_MAJOR_VERSION 997\n');
  writeFileSync(join(include, 'uv.h'), 'main\n');
  writeFileSync(join(include, 'uv/b.h'), 'b\n');
  writeFileSync(join(include, 'uv/Z.h'), 'Z\n');
  const headers = (major: number, hash: string) => ({
    name: 'uv',
    version: '1',
    needs: ['include/uv.h', 'include/uv/b.h'],
    origins: [
      { nodeHeaders: major, sha256: hash, format: 'folder', take: { 'uv.h': 'include/uv.h', uv: 'include/uv' } },
    ],
  });
  writeFileSync(join(dir, '.npmrc'), `nodedir=${nodedir}\n`);
  const other = await run([headers(998, sha256('main\nZ\nb\n'))]);
  expect(other.status).toBe(1);
  expect(other.errors).toEqual([expect.stringContaining(`${include} belongs to Node 997`)]);
  const wrong = await run([headers(997, sha256('else'))]);
  expect(wrong.errors).toEqual([expect.stringContaining(`from ${include}: sha256 is ${sha256('main\nZ\nb\n')}`)]);
  const right = await run([headers(997, sha256('main\nZ\nb\n'))]);
  expect(right).toEqual({ status: 0, stdout: `vendor: uv 1 from ${include}\n`, errors: [] });
  expect(readFileSync(vendored('uv/include/uv/Z.h'), 'utf8')).toBe('Z\n');
});

test('an https origin needs a certificate that is trusted, also through a proxy', async () => {
  const content = archive();
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  });
  const secure = await listen((_request, response) => response.end(content), {
    key: readFileSync(key),
    cert: readFileSync(cert),
  });
  const url = `https://localhost:${portOf(secure)}/one`;
  const sources = [sourceOf([{ url, sha256: sha256(content) }])];
  const untrusted = await run(sources);
  expect(untrusted.status).toBe(1);
  expect(untrusted.errors).toEqual([`vendor: one 1.0 from ${url}: self-signed certificate`]);

  const tunnels: string[] = [];
  server.on('connect', (request, socket) => {
    tunnels.push(request.url ?? '');
    const upstream = connect(portOf(secure), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    tunnelled.push(socket, upstream);
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  const trusted = { NODE_EXTRA_CA_CERTS: cert };
  expect((await run(sources, { env: { https_proxy: base, no_proxy: 'localhost', ...trusted } })).status).toBe(0);
  expect(tunnels).toEqual([]);
  rmSync(vendored('one'), { recursive: true });
  expect((await run(sources, { env: { https_proxy: base, ...trusted } })).status).toBe(0);
  expect(tunnels).toEqual([`localhost:${portOf(secure)}`]);
});

test('plain http goes through http_proxy', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  const url = 'http://upstream.invalid/one';
  const result = await run([sourceOf([{ url, sha256: sha256(content) }])], { env: { http_proxy: base } });
  expect(result.status).toBe(0);
  expect(requests).toEqual([url]);
});

test('what a killed run left behind is removed by the next, and a running one is left alone', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  const gone = spawn(process.execPath, ['-e', '0']);
  await new Promise((done) => gone.on('close', done));
  const alive = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  running.push(alive);
  for (const { pid } of [gone, alive]) mkdirSync(vendored(`.staging-${pid}-abc`), { recursive: true });
  await run([sourceOf([{ url: `${base}/one`, sha256: sha256(content) }])]);
  expect(vendorFolder().sort()).toEqual([`.staging-${alive.pid}-abc`, 'one']);
});

test('two runs at once both succeed', async () => {
  const content = archive();
  answer = (_request, response) => response.end(content);
  const sources = [sourceOf([{ url: `${base}/one`, sha256: sha256(content) }])];
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
