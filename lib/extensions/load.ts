// The two passes that turn candidates into running extensions: evaluate everything and settle who owns each name, then activate
// what the policy permits. Whatever goes wrong with one source costs that source only, with one line.
import { LAYERS, type Layer } from '../config/config.js';
import { printable } from '../config/paths.js';
import type { Json, Tool } from '../core/types.js';
import { type Candidate, ORIGINS, type Origin, type Problem } from './discover.js';
import { readNativeTool } from './native-tool.js';
import type { Policy } from './policy.js';

/** What the loader needs of the Lua runtime. Both errors are one line, `file:line: cause`. */
export interface ExtensionHost {
  /** Evaluates a source without side effects. */
  evaluate(source: {
    readonly path: string;
    readonly dir: string;
    readonly display: string;
    readonly layer: Layer;
  }): Promise<readonly { readonly id: number; readonly name: string; readonly description?: string }[]>;
  /** When it rejects, everything that the entry has registered is taken back. */
  activate(entry: number, options: { readonly settings: Json }): Promise<void>;
  /** Forgets an entry that is denied or shadowed. */
  drop(entry: number): Promise<void>;
}

export interface LoadInput {
  /** In the order of discovery; candidates of rocks included. */
  readonly candidates: readonly Candidate[];
  /** Shown as not evaluated. */
  readonly untrusted?: readonly Candidate[];
  /** Absent where Lua could not be started: native tools are loaded all the same. */
  readonly host?: ExtensionHost | undefined;
  readonly policy: Policy;
  /** `[extensions.settings]`, by name. */
  readonly settings: Readonly<Record<string, Json>>;
  /** Time limit for importing one native tool; default 5000. */
  readonly nativeTimeoutMs?: number;
}

export type ExtensionStatus = 'loaded' | 'denied' | 'shadowed' | 'failed' | 'not evaluated';

/** One row of `panto ext list`. */
export interface ExtensionState {
  /** Absent where the source never said it: it failed, or was not evaluated. */
  readonly name?: string;
  readonly description?: string;
  readonly layer: Layer;
  readonly origin: Origin;
  readonly kind: Candidate['kind'];
  readonly path: string;
  readonly display: string;
  readonly status: ExtensionStatus;
  /** One line; absent where it is loaded. */
  readonly reason?: string;
}

export interface LoadResult {
  /** Every entry, and every source that gave none, in the order of the candidates. */
  readonly states: readonly ExtensionState[];
  /** The native tools among the loaded, for the registry. */
  readonly tools: readonly Tool[];
  readonly problems: readonly Problem[];
}

/** An entry on its way: what evaluation gave, and what has become of it. */
interface Entry {
  readonly candidate: Candidate;
  readonly name: string;
  readonly description?: string;
  readonly made: { readonly kind: 'lua'; readonly id: number } | { readonly kind: 'native'; readonly tool: Tool };
}
interface Outcome {
  readonly status: ExtensionStatus;
  readonly reason?: string;
}
interface Row {
  readonly candidate: Candidate;
  readonly entry?: Entry;
  outcome: Outcome;
}
/** A row whose entry has a valid name. */
type Named = Row & { readonly entry: Entry };
/** Notes a problem and returns its line. */
type Report = (display: string, message: string) => string;

/** The grammar of names that allow and deny match. */
const ENTRY_NAME = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;

/** Loads what can be loaded; never rejects because of a source. */
export async function loadExtensions(input: LoadInput): Promise<LoadResult> {
  const problems: Problem[] = [];
  const report: Report = (display, message) => {
    const line = printable(message.includes(display) ? message : `${display}: ${message}`);
    problems.push({ display, message: line });
    return line;
  };
  const drop = async ({ candidate, made }: Entry): Promise<void> => {
    if (made.kind === 'lua')
      await input.host!.drop(made.id).catch((error) => report(candidate.display, messageOf(error)));
  };

  const rows = await evaluateAll(input, report);
  const owners = settleNames(rows, report);
  for (const row of rows) if (row.entry !== undefined && !owners.has(row as Named)) await drop(row.entry);

  const tools: Tool[] = [];
  // Event handlers run in the order of activation: a stronger layer sees what a weaker one has changed.
  for (const row of [...owners].sort(byPrecedence)) {
    const { candidate, entry } = row;
    const { allowed, rule } = input.policy.resolve(entry.name);
    if (!allowed) {
      row.outcome = {
        status: 'denied',
        reason: `by deny = "${rule!.pattern}" in ${printable(rule!.file)}:${rule!.line}`,
      };
      await drop(entry);
    } else if (entry.made.kind === 'native') {
      tools.push(entry.made.tool);
    } else {
      const settings = Object.hasOwn(input.settings, entry.name) ? input.settings[entry.name]! : {};
      await input.host!.activate(entry.made.id, { settings }).catch((error) => {
        row.outcome = { status: 'failed', reason: report(candidate.display, messageOf(error)) };
      });
    }
  }
  const untrusted = (input.untrusted ?? []).map((candidate): Row => {
    return { candidate, outcome: { status: 'not evaluated', reason: 'the project is not trusted' } };
  });
  return { states: [...rows, ...untrusted].map(toState), tools, problems };
}

/** Pass 1, first half: evaluates every candidate. Lua sources run one after another, in order; native ones meanwhile on threads. */
async function evaluateAll(input: LoadInput, report: Report): Promise<Row[]> {
  const natives = readNatives(input);
  const rows: Row[] = [];
  for (const candidate of input.candidates) {
    if (candidate.kind === 'lua' && input.host === undefined) {
      rows.push({ candidate, outcome: { status: 'not evaluated', reason: 'Lua is not available' } });
      continue;
    }
    try {
      const entries =
        candidate.kind === 'lua' ? await evaluateLua(input.host!, candidate) : [await natives.get(candidate)!];
      for (const entry of entries) rows.push({ candidate, entry, outcome: { status: 'loaded' } });
    } catch (error) {
      rows.push({ candidate, outcome: { status: 'failed', reason: report(candidate.display, messageOf(error)) } });
    }
  }
  return rows;
}

async function evaluateLua(host: ExtensionHost, candidate: Candidate): Promise<Entry[]> {
  const { path, dir, display, layer } = candidate;
  const entries = await host.evaluate({ path, dir, display, layer });
  return entries.map(({ id, name, description }) => ({
    candidate,
    name,
    ...(description === undefined ? {} : { description }),
    made: { kind: 'lua', id },
  }));
}

/** Starts reading all native tools, two at a time: each takes a thread. */
function readNatives(input: LoadInput): ReadonlyMap<Candidate, Promise<Entry>> {
  const lanes: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];
  const reads = new Map<Candidate, Promise<Entry>>();
  for (const candidate of input.candidates.filter(({ kind }) => kind === 'native')) {
    const lane = reads.size % lanes.length;
    const read = lanes[lane]!.then(async (): Promise<Entry> => {
      const tool = await readNativeTool(candidate, input.nativeTimeoutMs);
      return { candidate, name: tool.name, description: tool.description, made: { kind: 'native', tool } };
    });
    lanes[lane] = read.catch(() => undefined); // whoever awaits the read reports it
    reads.set(candidate, read);
  }
  return reads;
}

/**
 * Pass 1, second half: who owns each name. Across origins the stronger one shadows; within one the first keeps the name and the
 * second is an error. Sets the outcome of all others, and returns the owners.
 */
function settleNames(rows: readonly Row[], report: Report): Set<Named> {
  const owners = new Map<string, Named>();
  const firstOfOrigin = new Map<string, Named>();
  for (const row of rows) {
    if (row.entry === undefined) continue;
    const { candidate, entry } = row;
    const fail = (cause: string): void => {
      row.outcome = { status: 'failed', reason: report(candidate.display, cause) };
    };
    if (!ENTRY_NAME.test(entry.name)) {
      fail(`the name ${JSON.stringify(entry.name)} is not valid: use letters, digits, _ and -, with dots between`);
      continue;
    }
    const named = row as Named;
    const origin = `${candidate.layer}/${candidate.origin}/${entry.name}`;
    const first = firstOfOrigin.get(origin);
    if (first !== undefined) {
      const other = first.candidate === candidate ? 'this file itself' : first.candidate.display;
      fail(`the name "${entry.name}" is already taken by ${other}; the first stays`);
      continue;
    }
    firstOfOrigin.set(origin, named);
    const owner = owners.get(entry.name);
    if (owner === undefined || byPrecedence(owner, named) < 0) owners.set(entry.name, named);
  }
  for (const row of firstOfOrigin.values()) {
    const owner = owners.get(row.entry.name)!;
    if (owner !== row) row.outcome = { status: 'shadowed', reason: `by ${owner.candidate.display}` };
  }
  return new Set(owners.values());
}

/** Weakest first: by layer, then origin, then name. */
function byPrecedence(a: Named, b: Named): number {
  return (
    LAYERS.indexOf(a.candidate.layer) - LAYERS.indexOf(b.candidate.layer) ||
    ORIGINS.indexOf(a.candidate.origin) - ORIGINS.indexOf(b.candidate.origin) ||
    (a.entry.name < b.entry.name ? -1 : Number(a.entry.name > b.entry.name))
  );
}

function toState({ candidate, entry, outcome }: Row): ExtensionState {
  const { layer, origin, kind, path, display } = candidate;
  const named = entry === undefined ? {} : { name: entry.name };
  const described = entry?.description === undefined ? {} : { description: entry.description };
  return { ...named, ...described, layer, origin, kind, path, display, ...outcome };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
