// Writes THIRD-PARTY-NOTICES.txt: name, version and licence text of everything of others that is inside the package. What npm
// installs beside it (`dependencies`) brings its own, but for node-addon-api, which is compiled into the addon.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Sources of vendor/pins.json that are in the package, as source or compiled. */
const shippedSources = ['lua', 'luv', 'uv', 'yyjson'];

/** @param {string} root the repository, with the sources of vendor/ in place and dist/ just built */
export function writeNotices(root) {
  const parts = [...vendoredParts(root), ...bundledParts(root)];
  const withText = parts.map((part) => ({ ...part, text: part.text ?? textOfSibling(part, parts) }));
  const missing = withText.filter(({ text }) => text === undefined).map(({ name }) => name);
  if (missing.length > 0) throw new Error(`no licence text found for ${missing.join(', ')}`);
  const sections = byText(withText).map(
    ({ text, names }) => `${'-'.repeat(80)}\n${names.join('\n')}\n${'-'.repeat(80)}\n\n${text.trim()}\n`,
  );
  const head =
    'panto contains software of others, under these licences. panto itself is under the licence in LICENSE.\n';
  writeFileSync(join(root, 'THIRD-PARTY-NOTICES.txt'), [head, ...sections].join('\n'));
}

function vendoredParts(root) {
  const { sources } = JSON.parse(readFileSync(join(root, 'vendor/pins.json'), 'utf8'));
  return sources
    .filter(({ name }) => shippedSources.includes(name))
    .map(({ name, version, licence }) => {
      const folder = join(root, 'vendor', name);
      const header = { lua: 'src/lua.h', uv: 'include/uv.h' }[name];
      return { name, version, licence, text: header ? licenceInHeader(join(folder, header)) : licenceFile(folder) };
    });
}

function bundledParts(root) {
  const folders = JSON.parse(readFileSync(join(root, '.cache/bundled-packages.json'), 'utf8'));
  return [...folders, join(root, 'node_modules/node-addon-api')].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { name, version, licence: license, text: licenceFile(folder) };
  });
}

function licenceFile(folder) {
  const name = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  return name && readFileSync(join(folder, name), 'utf8');
}

/** The comment that holds the licence, without the frame of stars. */
function licenceInHeader(file) {
  const comments = readFileSync(file, 'utf8').match(/\/\*[\s\S]*?\*\//g) ?? [];
  const found = comments.find((comment) => comment.includes('Permission is hereby granted'));
  return found?.replace(/^\s*\/?\*+\/?[ \t]?/gm, '').replace(/\*+\/$/, '');
}

/** Packages that come from one repository carry its licence in one of them only. */
function textOfSibling({ name, licence }, parts) {
  const scope = dirname(name);
  if (scope === '.') return undefined;
  return parts.find((part) => dirname(part.name) === scope && part.licence === licence && part.text)?.text;
}

function byText(parts) {
  const names = new Map();
  for (const { name, version, licence, text } of parts) {
    names.set(text, [...(names.get(text) ?? []), `${name} ${version} (${licence})`]);
  }
  return [...names].map(([text, list]) => ({ text, names: [...new Set(list)] }));
}
