// The Debian mirrors that this machine's apt is configured with. Only entries of the main archive count: component main,
// no security suite, and no key other than Debian's own (a third-party repository names its key).
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

let found;

/**
 * Read once per process; empty where there is no apt.
 * @returns {{mirrors: string[], proxy?: string}} mirrors without a slash at the end, and the proxy that apt itself uses
 */
export function debianMirrors() {
  found ??= readMirrors();
  return found;
}

function readMirrors() {
  const settings = aptSettings();
  if (!settings) return { mirrors: [] };
  const files = [settings.LIST, ...partsOf(settings.PARTS)].filter(Boolean);
  const entries = files.flatMap((file) => {
    const text = readText(file);
    return file.endsWith('.sources') ? deb822Entries(text) : oneLineEntries(text);
  });
  const addresses = entries.filter(isMainArchive).flatMap((entry) => entry.uris.flatMap(resolveAddress));
  const mirrors = [...new Set(addresses.map((address) => address.replace(/\/+$/, '')))];
  const proxy = settings.PROXY && settings.PROXY !== 'DIRECT' ? settings.PROXY : undefined;
  return { mirrors, proxy };
}

/** apt-config knows where the lists are, also when APT_CONFIG moves them. */
function aptSettings() {
  const wanted = { LIST: 'Dir::Etc::sourcelist/f', PARTS: 'Dir::Etc::sourceparts/d', PROXY: 'Acquire::http::Proxy' };
  try {
    const output = execFileSync('apt-config', ['shell', ...Object.entries(wanted).flat()], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Object.fromEntries([...output.matchAll(/^(\w+)='(.*)'$/gm)].map(([, name, value]) => [name, value]));
  } catch {
    return undefined;
  }
}

function partsOf(folder) {
  try {
    const names = readdirSync(folder).filter((name) => /\.(list|sources)$/.test(name));
    return names.sort().map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** sources.list(5), "one-line-style": `deb [option=value …] uri suite component…`. */
function oneLineEntries(text) {
  return [...text.matchAll(/^[ \t]*deb(?:-src)?[ \t]+(?:\[([^\]]*)\][ \t]+)?(\S+)[ \t]+(\S+)[ \t]+([^#\n]+)/gm)].map(
    ([, options = '', uri, suite, components]) => ({
      uris: [uri],
      suites: [suite],
      components: words(components),
      key: /signed-by=(\S+)/i.exec(options)?.[1],
    }),
  );
}

/** sources.list(5), "deb822-style": stanzas of fields; a line that begins with a space continues its field. */
function deb822Entries(text) {
  const stanzas = text.replace(/^#.*\n?/gm, '').split(/\n\s*\n/);
  return stanzas.flatMap((stanza) => {
    const unfolded = stanza.replace(/\n[ \t]+/g, ' ');
    const field = (name) => new RegExp(`^${name}[ \\t]*:(.*)$`, 'im').exec(unfolded)?.[1]?.trim();
    if (/^(no|false|0|off|disable)$/i.test(field('Enabled') ?? '')) return [];
    const [uris, suites, components] = ['URIs', 'Suites', 'Components'].map((name) => words(field(name) ?? ''));
    return [{ uris, suites, components, key: field('Signed-By') }];
  });
}

function words(text) {
  return text.trim().split(/\s+/).filter(Boolean);
}

function isMainArchive({ suites, components, key }) {
  const isSecurity = (suite) => suite.endsWith('-security') || suite.endsWith('/updates');
  return (
    components.includes('main') &&
    suites.some((suite) => !isSecurity(suite)) &&
    (key === undefined || /\bdebian-archive\b/.test(key))
  );
}

/** http and https stay; `mirror+file:` (Debian's cloud images) names a file with one address a line. */
function resolveAddress(uri) {
  if (/^https?:/.test(uri)) return [uri];
  const list = /^mirror\+file:(?:\/\/)?(\/.*)$/.exec(uri)?.[1];
  return list
    ? readText(list)
        .split('\n')
        .flatMap((line) => words(line).slice(0, 1))
        .filter((word) => /^https?:/.test(word))
    : [];
}
