// The three kinds of origin: an upstream URL, a path in the Debian pool, and the headers of a Node installation.
// Whatever an origin gives is compared with its pinned sha256 before anybody else sees it.
import { createHash } from 'node:crypto';
import { debianMirrors } from './apt.mjs';
import { download } from './download.mjs';
import { findNodeHeaders } from './node-headers.mjs';

/** The origin answered, with other bytes than the pinned ones. */
export class WrongHash extends Error {}

/** What an origin is called where no address of it is known yet. */
export function nameOf(origin) {
  if (origin.url) return origin.url;
  if (origin.debian) return `the Debian pool (${origin.debian})`;
  return `the headers of Node ${origin.nodeHeaders}`;
}

/**
 * Fetches one origin and verifies it.
 * @returns {Promise<{content: Buffer | string, from: string}>} the archive, or for headers the folder, and where it came from
 * @throws {WrongHash} when the bytes are not the pinned ones; any other error when the origin cannot be had
 */
export async function fetchOrigin(origin, timeoutMs) {
  if (origin.nodeHeaders) {
    const { folder, bytes } = findNodeHeaders(origin.nodeHeaders);
    verify(origin, bytes, folder);
    return { content: folder, from: folder };
  }
  const candidates = origin.url ? [{ url: origin.url }] : debianCandidates(origin.debian);
  let lastError;
  for (const { url, proxy } of candidates) {
    let content;
    try {
      content = await download(url, { timeoutMs, proxy });
    } catch (error) {
      lastError = Object.assign(error, { from: withoutCredentials(url) });
      continue;
    }
    verify(origin, content, withoutCredentials(url));
    return { content, from: withoutCredentials(url) };
  }
  throw lastError;
}

function debianCandidates(path) {
  const { mirrors, proxy } = debianMirrors();
  if (mirrors.length === 0) throw new Error('apt names no Debian mirror on this machine');
  return mirrors.map((mirror) => ({ url: `${mirror}/${path}`, proxy }));
}

/** A mirror's address in the apt configuration may hold a password; it is neither printed nor recorded. */
function withoutCredentials(address) {
  return Object.assign(new URL(address), { username: '', password: '' }).href;
}

function verify(origin, bytes, from) {
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found === origin.sha256) return;
  throw Object.assign(new WrongHash(`sha256 is ${found}, expected ${origin.sha256}; nothing was unpacked`), { from });
}
