// Named locks, first come first served. A ticket enters the queues of all its names in one step, so all queues know the same order
// of tickets and two tickets can never wait for each other.
import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { untilAborted } from './abort.js';
import type { JsonObject } from './arguments.js';
import type { Json, ToolDecl } from './types.js';
import { expandPath } from './written-path.js';

export interface LockTicket {
  /** Whether it held all its locks at once when it was requested. */
  readonly immediate: boolean;
  /** Resolves when it holds all its locks. */
  readonly granted: Promise<void>;
  /** Gives the locks back, or leaves the queues. May be called again. */
  release(): void;
}

interface Waiting {
  readonly names: ReadonlySet<string>;
  grant(): void;
}

export class Locks {
  /** By name: the holder first, then those who wait, in order of request. */
  readonly #queues = new Map<string, Waiting[]>();

  /** Takes a place in the queue of every name. No name: granted at once. */
  request(names: readonly string[]): LockTicket {
    let grant = () => {};
    const granted = new Promise<void>((resolve) => {
      grant = resolve;
    });
    const waiting: Waiting = { names: new Set(names), grant };
    for (const name of waiting.names) {
      const queue = this.#queues.get(name);
      if (queue) queue.push(waiting);
      else this.#queues.set(name, [waiting]);
    }
    const immediate = this.#isFirst(waiting);
    if (immediate) grant();
    return { immediate, granted, release: () => this.#release(waiting) };
  }

  /** Runs alone among all that use the same name. An abort ends the waiting, not the run. */
  async hold<T>(name: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const ticket = this.request([name]);
    try {
      await (signal ? untilAborted(ticket.granted, signal) : ticket.granted);
      return await run();
    } finally {
      ticket.release();
    }
  }

  #isFirst(waiting: Waiting): boolean {
    return [...waiting.names].every((name) => this.#queues.get(name)?.[0] === waiting);
  }

  #release(waiting: Waiting): void {
    for (const name of waiting.names) {
      const queue = this.#queues.get(name);
      const index = queue?.indexOf(waiting) ?? -1;
      if (!queue || index < 0) continue;
      queue.splice(index, 1);
      const next = queue[0];
      if (next === undefined) this.#queues.delete(name);
      else if (index === 0 && this.#isFirst(next)) next.grant();
    }
  }
}

/** The locks that a call needs: `file:<real path>` for each path that the tool's `locks` point at. */
export async function lockNames(decl: ToolDecl, input: JsonObject, cwd: string): Promise<readonly string[]> {
  const paths = (decl.locks ?? [])
    .map((pointer) => valueAt(input, pointer))
    .filter((path): path is string => typeof path === 'string');
  return Promise.all(paths.map(async (path) => `file:${await realTarget(expandPath(path, cwd))}`));
}

/** The value at a JSON pointer (RFC 6901). */
function valueAt(value: Json, pointer: string): Json | undefined {
  let at: Json | undefined = value;
  for (const step of pointer.split('/').slice(1)) {
    if (typeof at !== 'object' || at === null) return undefined;
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    at = Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined;
  }
  return at;
}

/** The real path of the deepest ancestor that exists, and the rest: a file to be created has one name, too. */
async function realTarget(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path || !isAbsolute(path) ? path : join(await realTarget(parent), basename(path));
  }
}
