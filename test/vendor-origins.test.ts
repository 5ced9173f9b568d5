// Where scripts/vendor finds a source: the mirrors of apt, the headers of Node, certificates and proxies.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  archive,
  configureApt,
  dir,
  listen,
  origin,
  portOf,
  refused,
  run,
  sha256,
  sourceOf,
  tunnelled,
  upstream,
  vendored,
} from './vendor-harness.js';

test('an upstream that is down gives way to the Debian pool of the mirror in deb822 form', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  configureApt({
    'debian.sources': `Types: deb
# A comment inside a stanza
URIs: ${upstream.base}/debian/
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: ${upstream.base}/security
Suites: trixie-security
Components: main

Enabled: no
Types: deb
URIs: ${upstream.base}/disabled
Suites: trixie
Components: main

Types: deb
URIs: ${upstream.base}/third-party
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
  expect(upstream.requests).toEqual(['/debian/pool/main/o/one_1.0.orig.tar.gz']);
  expect(origin().from).toBe(`${upstream.base}/debian/pool/main/o/one_1.0.orig.tar.gz`);
});

test('the mirrors of one-line lists are tried in order, without the password in what is printed', async () => {
  const content = archive();
  upstream.answer = (request, response) => {
    const isAllowed = request.headers.authorization === `Basic ${Buffer.from('me:secret').toString('base64')}`;
    if (request.url?.startsWith('/private/') && isAllowed) response.end(content);
    else response.writeHead(404).end();
  };
  const withPassword = upstream.base.replace('//', '//me:secret@');
  configureApt({
    'a.list': `# deb ${upstream.base}/commented trixie main
deb [arch=amd64 signed-by=/usr/share/keyrings/example.gpg] ${upstream.base}/third-party stable main
deb [arch=amd64] ${upstream.base}/contrib-only trixie contrib
deb ${upstream.base}/first bookworm main contrib # the nearest
deb-src ${withPassword}/private bookworm main
`,
  });
  const result = await run([sourceOf([{ debian: 'pool/one.tar.gz', sha256: sha256(content) }])]);
  expect(result).toEqual({
    status: 0,
    stdout: `vendor: one 1.0 from ${upstream.base}/private/pool/one.tar.gz\n`,
    errors: [],
  });
  expect(upstream.requests).toEqual(['/first/pool/one.tar.gz', '/private/pool/one.tar.gz']);
  expect(readFileSync(vendored('one/.origin.json'), 'utf8')).not.toContain('secret');
});

test('a mirror list in a file is read', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  writeFileSync(join(dir, 'mirrors'), `${upstream.base}/listed/ priority:1\n`);
  configureApt({
    'debian.sources': `Types: deb\nURIs: mirror+file://${join(dir, 'mirrors')}\nSuites: sid\nComponents: main\n`,
  });
  await run([sourceOf([{ debian: 'pool/one.tar.gz', sha256: sha256(content) }])]);
  expect(upstream.requests).toEqual(['/listed/pool/one.tar.gz']);
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
  upstream.server.on('connect', (request, socket) => {
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
  expect((await run(sources, { env: { https_proxy: upstream.base, no_proxy: 'localhost', ...trusted } })).status).toBe(
    0,
  );
  expect(tunnels).toEqual([]);
  rmSync(vendored('one'), { recursive: true });
  expect((await run(sources, { env: { https_proxy: upstream.base, ...trusted } })).status).toBe(0);
  expect(tunnels).toEqual([`localhost:${portOf(secure)}`]);
});

test('plain http goes through http_proxy', async () => {
  const content = archive();
  upstream.answer = (_request, response) => response.end(content);
  const url = 'http://upstream.invalid/one';
  const result = await run([sourceOf([{ url, sha256: sha256(content) }])], { env: { http_proxy: upstream.base } });
  expect(result.status).toBe(0);
  expect(upstream.requests).toEqual([url]);
});
