// Whether the person has trusted a project. Until then nothing of its .panto folder is evaluated or applied: its extensions are code,
// and its config can name servers and base URLs that steal a key. The trust is for the content: once that changes, it is asked for again.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, realpath, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { configFile } from '../config/config.js';
import { displayPath, printable, resolveWrittenPath } from '../config/paths.js';
import { readToml } from '../config/toml.js';
import { type Fingerprint, fingerprint } from './fingerprint.js';

/** Where the decisions are kept: a file of its own for each project in `<stateDir>/trust/`, so that two starts cannot lose one. */
export interface TrustStore {
  readonly stateDir: string;
  readonly home?: string | undefined;
}

export interface TrustReport {
  /** The project's real path. */
  readonly root: string;
  /**
   * nothing: there is no project layer that would need trust. changed: it was trusted with other content.
   * Only `trusted` may load the project layer.
   */
  readonly state: 'trusted' | 'untrusted' | 'changed' | 'nothing';
  /** What trusting would switch on, one line each: ".panto/config.toml", ".panto/tools: 2 files". */
  readonly contents: readonly string[];
  /** Of the content that was looked at; absent where it could not be read. */
  readonly digest?: string;
  /** Why it cannot be trusted: one line. */
  readonly problem?: string;
}

/** Looks at the project's content and at what is remembered of it. Never rejects: what cannot be read is untrusted. */
export async function trustState(projectRoot: string, store: TrustStore): Promise<TrustReport> {
  let root = projectRoot;
  try {
    root = await realpath(projectRoot);
    const places = await placesOf(root, store.home);
    const { digest, counts } = await fingerprint(places);
    const contents = describeContents(places, counts, root, store.home);
    if (contents.length === 0) return { root, state: 'nothing', contents, digest };
    const known = await readRecord(recordFile(root, store));
    const state = known?.root !== root ? 'untrusted' : known.digest === digest ? 'trusted' : 'changed';
    return { root, state, contents, digest };
  } catch (error) {
    return { root, state: 'untrusted', contents: [], problem: printable((error as Error).message) };
  }
}

/**
 * Remembers that the person trusts exactly what the report was about: what has changed since will be asked for again.
 * @throws Error with one line if the content could not be read, or the decision cannot be written.
 */
export async function trustProject(report: TrustReport, store: TrustStore): Promise<void> {
  const { root, digest } = report;
  if (digest === undefined) throw new Error(`${printable(root)} cannot be trusted: ${report.problem}`);
  const file = recordFile(root, store);
  const temporary = `${file}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  const record: TrustRecord = { version: 1, root, digest, trustedAt: new Date().toISOString() };
  try {
    await mkdir(trustFolder(store), { recursive: true, mode: 0o700 });
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(record)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new Error(`the trust in ${printable(root)} cannot be remembered: ${(error as Error).message}`);
  }
}

/** Forgets the decision. @returns whether there was one. */
export async function revokeTrust(projectRoot: string, store: TrustStore): Promise<boolean> {
  const root = await realpath(projectRoot).catch(() => projectRoot); // the project itself may be gone
  try {
    await rm(recordFile(root, store));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw new Error(`the trust in ${printable(root)} cannot be revoked: ${(error as Error).message}`);
  }
}

/** The projects that are remembered, by path; whether their content is still the same is not looked at. */
export async function listTrusted(store: TrustStore): Promise<{ root: string; trustedAt: string }[]> {
  const names = await readdir(trustFolder(store)).catch(() => []);
  const records = await Promise.all(
    names.filter((name) => name.endsWith('.json')).map((name) => readRecord(join(trustFolder(store), name))),
  );
  return records
    .filter((record) => record !== undefined)
    .map(({ root, trustedAt }) => ({ root, trustedAt }))
    .sort((a, b) => (a.root < b.root ? -1 : 1));
}

/** Runs a change that panto itself makes to the project's content: if the project was trusted, it stays so. */
export async function keepTrust<T>(projectRoot: string, store: TrustStore, change: () => Promise<T>): Promise<T> {
  const before = await trustState(projectRoot, store);
  const result = await change();
  if (before.state === 'trusted') await trustProject(await trustState(projectRoot, store), store);
  return result;
}

interface TrustRecord {
  readonly version: 1;
  readonly root: string;
  readonly digest: string;
  readonly trustedAt: string;
}

function trustFolder(store: TrustStore): string {
  return join(store.stateDir, 'trust');
}

function recordFile(root: string, store: TrustStore): string {
  return join(trustFolder(store), `${createHash('sha256').update(root).digest('hex')}.json`);
}

/** undefined for a record that is not there, or is not one: then the project is not trusted. */
async function readRecord(file: string): Promise<TrustRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(file, 'utf8')) as Partial<TrustRecord> | null;
    const complete =
      record?.version === 1 &&
      [record.root, record.digest, record.trustedAt].every((value) => typeof value === 'string' && value !== '');
    return complete ? (record as TrustRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** The three fixed places, then the target of each `paths` entry, which may lie anywhere. */
async function placesOf(root: string, home: string | undefined): Promise<string[]> {
  const places = [configFile({ projectRoot: root }), join(root, '.panto/extensions'), join(root, '.panto/tools')];
  const config = await readToml(places[0]!);
  if (config.kind !== 'file') return places; // a config that is wrong stops the start once it is trusted
  const written = (config.values.extensions as { paths?: unknown } | undefined)?.paths;
  for (const path of Array.isArray(written) ? written : []) {
    if (typeof path !== 'string') continue;
    try {
      places.push(resolveWrittenPath(path, root, home));
    } catch {
      // Not loadable either: the config reports it.
    }
  }
  return places;
}

function describeContents(
  places: readonly string[],
  counts: Fingerprint['counts'],
  root: string,
  home: string | undefined,
): string[] {
  return places.flatMap((place, index) => {
    const count = counts[index]!;
    if (count === 0) return [];
    const shown = displayPath(place, root, home);
    return [index === 0 ? shown : `${shown}: ${count} file${count === 1 ? '' : 's'}`];
  });
}
