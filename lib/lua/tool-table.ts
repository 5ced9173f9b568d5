// What Lua has registered, as declarations for lib/core.
import type { Json, ToolDecl } from '../core/types.js';

/** The message that `ext.register_tool` sends. */
export interface ToolRegistered {
  readonly entry: number;
  readonly extension: string;
  readonly name: string;
  readonly description: string;
  readonly schema: Json;
  /** Seconds; 0 is none. */
  readonly timeout?: number;
  readonly guidelines?: string;
  readonly read_only?: boolean;
  readonly label?: string;
  readonly prepares: boolean;
}

export interface LuaToolDecl extends ToolDecl {
  readonly extension: string;
  readonly label?: string;
  /** The tool repairs its arguments before they are validated. */
  readonly prepares: boolean;
}

function toDecl(tool: ToolRegistered): LuaToolDecl {
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: tool.schema,
    extension: tool.extension,
    origin: `extension ${tool.extension}`,
    prepares: tool.prepares,
    ...(tool.timeout !== undefined && { timeoutMs: tool.timeout * 1000 }),
    ...(tool.guidelines !== undefined && { guidelines: tool.guidelines }),
    ...(tool.read_only !== undefined && { readOnly: tool.read_only }),
    ...(tool.label !== undefined && { label: tool.label }),
  };
}

export class ToolTable {
  readonly #tools = new Map<string, LuaToolDecl>();

  add(tool: ToolRegistered): void {
    this.#tools.set(tool.name, toDecl(tool));
  }

  remove(name: string): void {
    this.#tools.delete(name);
  }

  get(name: string): LuaToolDecl | undefined {
    return this.#tools.get(name);
  }

  list(): readonly LuaToolDecl[] {
    return [...this.#tools.values()];
  }
}
