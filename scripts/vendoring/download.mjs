// One HTTP(S) download into memory: certificates checked, redirects followed, silence limited, proxies as the environment says.
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';

const maxRedirects = 5;
// The largest pinned archive is below 2 MB.
const maxBytes = 64 * 1024 * 1024;

/**
 * @param {string} address http: or https:
 * @param {{timeoutMs: number, proxy?: string}} options `timeoutMs` limits silence, not the whole; `proxy` is for plain http
 *   where the environment names none
 * @throws with a short reason; a body shorter than its Content-Length is an error, too
 */
export async function download(address, { timeoutMs, proxy }) {
  let url = new URL(address);
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const response = await request(url, timeoutMs, proxy);
    const { statusCode, headers } = response;
    if (statusCode === 200) return await readBody(response);
    response.destroy();
    if (![301, 302, 303, 307, 308].includes(statusCode) || !headers.location)
      throw new Error(`HTTP status ${statusCode}`);
    const next = new URL(headers.location, url);
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw new Error(`redirected from https to ${next.href}`);
    url = next;
  }
  throw new Error(`more than ${maxRedirects} redirects`);
}

async function request(url, timeoutMs, plainProxy) {
  const proxy = proxyFor(url) ?? (url.protocol === 'http:' && plainProxy ? new URL(plainProxy) : undefined);
  const options = {
    agent: false,
    timeout: timeoutMs,
    headers: { 'user-agent': 'panto-vendor', 'accept-encoding': 'identity' },
  };
  if (!proxy) return await send((url.protocol === 'https:' ? https : http).get(url, options), 'response');
  const via = { ...options, host: proxy.hostname, port: proxy.port || 80 };
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  if (proxy.username) {
    via.headers = { ...via.headers, 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
  }
  if (url.protocol === 'http:') {
    return await send(http.get({ ...via, path: url.href, headers: { ...via.headers, host: url.host } }), 'response');
  }
  const authority = `${url.hostname}:${url.port || 443}`;
  const [answer, socket] = await send(http.request({ ...via, method: 'CONNECT', path: authority }).end(), 'connect');
  if (answer.statusCode !== 200) throw new Error(`the proxy answers with HTTP status ${answer.statusCode}`);
  // An agent would make a connection of its own.
  const createConnection = () => tls.connect({ socket, servername: url.hostname });
  return await send(https.get(url, { ...options, agent: undefined, createConnection }), 'response');
}

/** Resolves with the response (or for `connect` with [response, socket]); rejects with a short reason. */
function send(outgoing, event) {
  return new Promise((resolve, reject) => {
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer in time')));
    outgoing.on('error', (error) => reject(new Error(reasonOf(error))));
    outgoing.on(event, (response, socket) => resolve(event === 'connect' ? [response, socket] : response));
  });
}

async function readBody(response) {
  const chunks = [];
  let length = 0;
  try {
    for await (const chunk of response) {
      length += chunk.length;
      if (length > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    // Node says "aborted" when the peer goes before the whole body has come.
    throw new Error(error.code === 'ECONNRESET' ? `the connection ended after ${length} bytes` : reasonOf(error));
  }
  return Buffer.concat(chunks);
}

/** Several addresses tried in vain are an AggregateError, whose own message is empty. */
function reasonOf(error) {
  return error.errors?.[0]?.message ?? error.message ?? String(error);
}

/** http_proxy, https_proxy and no_proxy, as curl reads them (upper case only for HTTPS_PROXY and NO_PROXY). */
function proxyFor(url) {
  const { env } = process;
  const name = url.protocol === 'https:' ? (env.https_proxy ?? env.HTTPS_PROXY) : env.http_proxy;
  if (!name) return undefined;
  const exceptions = (env.no_proxy ?? env.NO_PROXY ?? '').split(',').map((entry) => entry.trim().replace(/^\*?\./, ''));
  const isExcepted = (entry) =>
    entry === '*' || (entry && (url.hostname === entry || url.hostname.endsWith(`.${entry}`)));
  if (exceptions.some(isExcepted)) return undefined;
  return new URL(name.includes('://') ? name : `http://${name}`);
}
