// What the vendor tests share: scripts/vendor in a process, a server on the loopback as the upstream, an apt configuration of the test's own.
import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { packageRoot } from '../lib/core/package-root.js';

export const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex');

export let dir: string;
/** The loopback server; a test sets `answer`, all else is begun anew for each. */
export const upstream = {
  server: undefined as unknown as Server,
  base: '',
  requests: [] as string[],
  connections: 0,
  answer: (_request: IncomingMessage, response: ServerResponse): unknown => response.end(),
};
export const running: ChildProcess[] = [];
const servers: Server[] = [];
export const tunnelled: Duplex[] = [];

/** Listens on a free port of the loopback and is closed after the test. */
export async function listen(listener: RequestListener, tls?: { key: Buffer; cert: Buffer }): Promise<Server> {
  const made = (tls ? createTlsServer(tls, listener) : createServer(listener)) as Server;
  servers.push(made);
  await new Promise<void>((done) => made.listen(0, '127.0.0.1', done));
  return made;
}

export const portOf = (made: Server) => (made.address() as AddressInfo).port;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'panto-vendor-'));
  upstream.requests = [];
  upstream.connections = 0;
  upstream.answer = (_request, response) => response.writeHead(404).end();
  upstream.server = await listen((request, response) => {
    upstream.requests.push(request.url ?? '');
    upstream.answer(request, response);
  });
  upstream.server.on('connection', () => upstream.connections++);
  upstream.base = `http://127.0.0.1:${portOf(upstream.server)}`;
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

export function run(
  sources: unknown[],
  extra: { env?: Record<string, string>; args?: string[] } = {},
): Promise<Outcome> {
  writeFileSync(join(dir, 'pins.json'), JSON.stringify({ sources }));
  const args = ['--dir', join(dir, 'vendor'), '--pins', join(dir, 'pins.json'), ...(extra.args ?? [])];
  return new Promise((done) => {
    execFile(join(packageRoot, 'scripts/vendor'), args, { env: environment(extra.env) }, (error, stdout, stderr) => {
      done({ status: error ? Number(error.code) : 0, stdout, errors: stderr.split('\n').filter(Boolean) });
    });
  });
}

/** An apt configuration of its own: file name below sources.list.d to content. */
export function configureApt(files: Record<string, string>): void {
  const parts = join(dir, 'apt/sources.list.d');
  mkdirSync(parts, { recursive: true });
  writeFileSync(join(dir, 'apt.conf'), `Dir::Etc "${join(dir, 'apt')}";\nDir::Etc::sourceparts "${parts}";\n`);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(parts, name), text);
}

/** Packs `files` below one top folder, as source archives are. */
export function archiveOf(files: Record<string, string>, flag = '-czf'): Buffer {
  const folder = mkdtempSync(join(dir, 'archive-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'top', name)), { recursive: true });
    writeFileSync(join(folder, 'top', name), text);
  }
  execFileSync('tar', [flag, join(folder, 'a.tar'), '-C', folder, 'top']);
  return readFileSync(join(folder, 'a.tar'));
}

export const archive = () => archiveOf({ 'src/one.c': 'int one;\n', LICENSE: 'free\n' });

export function sourceOf(origins: unknown[], name = 'one'): unknown {
  const take = { '.': '.' };
  const complete = origins.map((origin) => ({ format: 'tar.gz', take, ...(origin as object) }));
  return { name, version: '1.0', licence: 'MIT', purpose: 'a test', needs: ['src/one.c'], origins: complete };
}

export const vendored = (name: string) => join(dir, 'vendor', name);
export const vendorFolder = () => (existsSync(join(dir, 'vendor')) ? readdirSync(join(dir, 'vendor')) : []);
export const origin = (name = 'one') =>
  JSON.parse(readFileSync(vendored(`${name}/.origin.json`), 'utf8')) as { from: string };

export const refused = 'http://127.0.0.1:1/one.tar.gz';
