// Who owns which tool. Names are refused one by one; a source may change its set. A turn works on a ToolSet, a snapshot, so
// that a change is seen at turn boundaries only.
import { isJsonObject } from './arguments.js';
import { schemaProblem } from './schema.js';
import type { Refusal, Registered, SourceRegistration, Tool, ToolDecl, ToolSource } from './types.js';

/** The rule of every provider that panto speaks to. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export interface ToolEntry {
  readonly decl: ToolDecl;
  /** Name of the source, or "native". */
  readonly owner: string;
  readonly registered: Registered;
}

/** The tools of one turn. */
export interface ToolSet {
  readonly declarations: readonly ToolDecl[];
  lookup(name: string): ToolEntry | undefined;
}

export class ToolRegistry {
  readonly #entries = new Map<string, ToolEntry>();
  /** Entries whose schema has passed the full check. */
  readonly #checked = new WeakSet<ToolEntry>();

  /** Adds a native tool, or says why not. */
  registerTool(tool: Tool): { refused?: Refusal; dispose(): void } {
    const entry: ToolEntry = { decl: tool, owner: 'native', registered: { kind: 'single', tool } };
    const refused = this.#refusal(entry);
    if (refused) return { refused, dispose() {} };
    this.#entries.set(tool.name, entry);
    return { dispose: () => this.#remove(entry) };
  }

  /** Adds every tool of a source whose name is good and free. */
  registerToolSource(source: ToolSource): SourceRegistration {
    const registered: Registered = { kind: 'source', source };
    const refresh = () => this.#adopt(source, registered);
    let refused = refresh();
    return {
      get refused() {
        return refused;
      },
      refresh() {
        refused = refresh();
        return refused;
      },
      dispose: () => this.#keepOnly(registered, new Set()),
    };
  }

  lookup(name: string): Registered | undefined {
    return this.#entries.get(name)?.registered;
  }

  /** What the next turn offers, in order of registration. */
  declarations(): readonly ToolDecl[] {
    return [...this.#entries.values()].map((entry) => entry.decl);
  }

  /** The declaration of one tool, for a policy that decides on it. */
  declaration(name: string): ToolDecl | undefined {
    return this.#entries.get(name)?.decl;
  }

  /** The tools as they are now, for one turn. */
  snapshot(): ToolSet {
    const entries = new Map(this.#entries);
    return {
      declarations: [...entries.values()].map((entry) => entry.decl),
      lookup: (name) => entries.get(name),
    };
  }

  /**
   * Compares the schemas of tools that are new since the last check with the draft's meta-schema, and takes out the tools whose schema
   * is bad: one such tool would fail every request. Registering checks the shape only, because the full check loads ajv;
   * the agent awaits this before each request, a host may call it earlier.
   */
  async check(): Promise<readonly Refusal[]> {
    const refusals: Refusal[] = [];
    for (const entry of [...this.#entries.values()]) {
      if (this.#checked.has(entry)) continue;
      const problem = await schemaProblem(entry.decl.inputSchema);
      this.#checked.add(entry);
      if (problem === undefined) continue;
      this.#remove(entry);
      refusals.push({ name: entry.decl.name, reason: `${label(entry)}: ${problem}`, owner: entry.owner });
    }
    return refusals;
  }

  #adopt(source: ToolSource, registered: Registered): readonly Refusal[] {
    const refusals: Refusal[] = [];
    const kept = new Set<string>();
    for (const decl of source.tools) {
      const entry: ToolEntry = { decl, owner: source.name, registered };
      const refused = kept.has(decl.name)
        ? { name: decl.name, reason: `${label(entry)}: declared twice`, owner: source.name }
        : this.#refusal(entry);
      if (refused) {
        refusals.push(refused);
        continue;
      }
      kept.add(decl.name);
      // An unchanged declaration keeps its entry, and with it the result of the check.
      if (this.#entries.get(decl.name)?.decl !== decl) this.#entries.set(decl.name, entry);
    }
    this.#keepOnly(registered, kept);
    return refusals;
  }

  #refusal(entry: ToolEntry): Refusal | undefined {
    const { name, description, inputSchema } = entry.decl;
    const refuse = (reason: string, owner?: string): Refusal => ({
      name: String(name),
      reason: `${label(entry)}: ${reason}`,
      ...(owner === undefined ? {} : { owner }),
    });
    if (typeof name !== 'string' || !NAME.test(name)) {
      return refuse('a tool name has 1 to 64 of the characters A-Z a-z 0-9 _ -');
    }
    if (typeof description !== 'string') return refuse('it has no description');
    if (!isJsonObject(inputSchema) || inputSchema.type !== 'object') {
      return refuse('its schema must be a JSON Schema with type "object"');
    }
    const holder = this.#entries.get(name);
    if (holder && holder.registered !== entry.registered) {
      return refuse(`the name is taken by ${ownerText(holder)}`, holder.owner);
    }
    return undefined;
  }

  #keepOnly(registered: Registered, names: ReadonlySet<string>): void {
    for (const [name, entry] of this.#entries) {
      if (entry.registered === registered && !names.has(name)) this.#entries.delete(name);
    }
  }

  #remove(entry: ToolEntry): void {
    if (this.#entries.get(entry.decl.name) === entry) this.#entries.delete(entry.decl.name);
  }
}

function label(entry: ToolEntry): string {
  return `tool ${JSON.stringify(entry.decl.name)} of ${ownerText(entry)}`;
}

function ownerText({ registered, owner, decl }: ToolEntry): string {
  return registered.kind === 'single' ? `native (${registered.tool.module.pathname})` : (decl.origin ?? owner);
}
