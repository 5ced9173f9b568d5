// Finds extension sources on disk by their place and name alone; nothing is evaluated here.
import type { Dirent, Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type ExtensionPath, LAYERS, type Layer } from '../config/config.js';
import { displayPath, printable } from '../config/paths.js';

/** Where within a layer a source comes from, weakest first. */
export const ORIGINS = ['rocks', 'paths', 'dir'] as const;
export type Origin = (typeof ORIGINS)[number];

/** One file, or one module of a rock, that may return entries. */
export interface Candidate {
  readonly layer: Layer;
  readonly origin: Origin;
  /** Absolute path of the file to evaluate. */
  readonly path: string;
  /** Its own folder, absolute: NAME/ beside NAME.lua (which need not exist), or the folder that holds init.lua. */
  readonly dir: string;
  readonly kind: 'lua' | 'native';
  /** The path for messages: relative to the project or to `~`, on one line. */
  readonly display: string;
}

/** One line for the person; names the file or the rock. */
export interface Problem {
  readonly display: string;
  readonly message: string;
}

export interface DiscoverInput {
  /** Folder that holds the shipped `tools/` and `extensions/`: `<package>/lua`. */
  readonly baseDir: string;
  readonly configDir: string;
  readonly projectRoot: string;
  /** Whether the project layer may be evaluated. */
  readonly trusted: boolean;
  /** `extensions.paths` of the loaded config. */
  readonly paths: readonly ExtensionPath[];
  readonly home?: string | undefined;
}

export interface Discovered {
  /** Weakest first: base, user, project; within a layer paths, then dir; there extensions/, tools/, then file name. */
  readonly candidates: readonly Candidate[];
  /** What an untrusted project has in its folders; for `panto ext list`, never to be evaluated. */
  readonly untrusted: readonly Candidate[];
  readonly problems: readonly Problem[];
}

/** Never rejects: what cannot be read becomes a problem. */
export async function discoverExtensions(input: DiscoverInput): Promise<Discovered> {
  const problems: Problem[] = [];
  const show = (path: string): string => displayPath(path, input.projectRoot, input.home);

  const scanLayer = async (layer: Layer, root: string): Promise<Candidate[]> => {
    const extensions = await scanFolder(join(root, 'extensions'), { native: false });
    const tools = await scanFolder(join(root, 'tools'), { native: true });
    return [...extensions, ...tools].map((source) => ({ layer, origin: 'dir', ...source }));
  };

  const scanPath = async (entry: ExtensionPath): Promise<Candidate[]> => {
    const { layer, path } = entry;
    const refuse = (message: string): Candidate[] => {
      const place = `${show(entry.file)}:${entry.line}`;
      problems.push({
        display: place,
        message: `${place}: extensions.paths: "${printable(entry.written)}" ${message}`,
      });
      return [];
    };
    const found = await statOrCode(path);
    if (typeof found === 'string') return refuse(found === 'ENOENT' ? 'does not exist' : `cannot be read: ${found}`);
    if (!found.isDirectory()) return refuse('is not a folder; name the folder that holds it');
    const own = join(path, 'init.lua');
    const sources = (await isFile(own))
      ? [{ path: own, dir: path, kind: 'lua' as const, display: show(own) }]
      : await scanFolder(path, { native: true });
    if (sources.length === 0) return refuse('has no extension in it (NAME.lua, NAME/init.lua or NAME.mjs)');
    return sources.map((source) => ({ layer, origin: 'paths', ...source }));
  };

  /** The sources directly inside a folder, by file name; a folder that is not there has none. */
  const scanFolder = async (folder: string, options: { native: boolean }): Promise<Source[]> => {
    let entries: Dirent[];
    try {
      entries = await readdir(folder, { withFileTypes: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') problems.push(problemAt(show(folder), `cannot be read: ${code}`));
      return [];
    }
    const sources: Source[] = [];
    for (const { name } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (isSkipped(name)) continue;
      const path = join(folder, name);
      const found = await statOrCode(path);
      if (typeof found === 'string') {
        // A dangling link is the usual case: silence would look as if the extension had never been there.
        if (isSourceName(name)) problems.push(problemAt(show(path), `cannot be read: ${found}`));
      } else if (found.isDirectory()) {
        const init = join(path, 'init.lua');
        if (await isFile(init)) sources.push({ path: init, dir: path, kind: 'lua', display: show(init) });
        else if (isSourceName(name)) problems.push(problemAt(show(path), 'is a folder without init.lua'));
      } else if (found.isFile()) {
        const kind = name.endsWith('.lua') ? 'lua' : name.endsWith('.mjs') && options.native ? 'native' : undefined;
        const dir = join(folder, name.replace(/\.(lua|mjs)$/, ''));
        if (kind !== undefined) sources.push({ path, dir, kind, display: show(path) });
      } else if (isSourceName(name)) {
        problems.push(problemAt(show(path), 'is no regular file'));
      }
    }
    return sources;
  };

  const candidates: Candidate[] = [];
  let untrusted: Candidate[] = [];
  const roots = { base: input.baseDir, user: input.configDir, project: join(input.projectRoot, '.panto') };
  for (const layer of LAYERS) {
    const fromDirs = await scanLayer(layer, roots[layer]);
    if (layer === 'project' && !input.trusted) {
      untrusted = fromDirs;
      continue;
    }
    for (const entry of input.paths) if (entry.layer === layer) candidates.push(...(await scanPath(entry)));
    candidates.push(...fromDirs);
  }
  return { candidates: await withoutRepeats(candidates), untrusted, problems };
}

type Source = Pick<Candidate, 'path' | 'dir' | 'kind' | 'display'>;

function problemAt(display: string, cause: string): Problem {
  return { display, message: `${display}: ${cause}` };
}

/** Helpers and tests, and what editors and systems leave behind. */
function isSkipped(name: string): boolean {
  return name.startsWith('_') || name.startsWith('.') || /_test\.(lua|mjs)$/.test(name);
}

function isSourceName(name: string): boolean {
  return /\.(lua|mjs)$/.test(name);
}

async function statOrCode(path: string): Promise<Stats | string> {
  return stat(path).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
}

async function isFile(path: string): Promise<boolean> {
  const found = await statOrCode(path);
  return typeof found !== 'string' && found.isFile();
}

/** The same folder listed twice in `paths` is one origin with one candidate for each file. */
async function withoutRepeats(candidates: readonly Candidate[]): Promise<Candidate[]> {
  const seen = new Set<string>();
  const kept: Candidate[] = [];
  for (const candidate of candidates) {
    const real = await realpath(dirname(candidate.path)).catch(() => dirname(candidate.path));
    const key = `${candidate.layer}\0${candidate.origin}\0${join(real, basename(candidate.path))}`;
    if (!seen.has(key)) kept.push(candidate);
    seen.add(key);
  }
  return kept;
}
