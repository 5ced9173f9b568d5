// Lua extensions written inside a test, run by the real runtime on the tree that global-setup.ts made.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';
import type { CallContent, CallResult, Json, ToolCall } from '../lib/core/types.js';
import { type LuaEvent, LuaRuntime } from '../lib/lua/runtime.js';
import { treeAt } from '../lib/rocks/index.js';

export const testTree = treeAt(join(packageRoot, '.cache/test-home'));

export interface Settled {
  readonly result: CallResult;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface CallSpec {
  readonly tool: string;
  readonly input?: Json;
  /** Instead of `input`: JSON text as it is. */
  readonly text?: string;
  readonly signal?: AbortSignal;
  readonly id?: string;
  readonly update?: (partial: CallContent) => void;
}

export interface HarnessOptions {
  readonly cwd?: string;
  readonly extraCpath?: string;
  readonly holdLimitMs?: number;
  readonly graceMs?: number;
}

export class LuaHarness {
  readonly events: LuaEvent[] = [];
  #calls = 0;

  private constructor(
    readonly runtime: LuaRuntime,
    readonly dir: string,
    readonly logFile: string,
  ) {
    runtime.on((event) => this.events.push(event));
  }

  static async start(options: HarnessOptions = {}): Promise<LuaHarness> {
    const dir = mkdtempSync(join(tmpdir(), 'panto-lua-'));
    const logFile = join(dir, 'log');
    const runtime = await LuaRuntime.start({
      luaDir: join(packageRoot, 'lua'),
      luaPath: testTree.luaPath,
      luaCpath: options.extraCpath === undefined ? testTree.luaCpath : `${options.extraCpath};${testTree.luaCpath}`,
      luvFile: testTree.luv,
      logFile,
      session: 'test-session',
      ...(options.cwd !== undefined && { cwd: options.cwd }),
      ...(options.holdLimitMs !== undefined && { holdLimitMs: options.holdLimitMs }),
      ...(options.graceMs !== undefined && { graceMs: options.graceMs }),
    });
    return new LuaHarness(runtime, dir, logFile);
  }

  write(name: string, text: string): string {
    const path = join(this.dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Evaluates `name` (as in extensions/) and activates all its entries. */
  async load(name: string, text: string): Promise<void> {
    for (const entry of await this.evaluate(name, text)) await this.runtime.activate(entry.id);
  }

  evaluate(name: string, text: string) {
    const path = this.write(name, text);
    const dir = name.endsWith('/init.lua') ? dirname(path) : path.replace(/\.lua$/, '');
    return this.runtime.evaluate({ path, dir, display: `extensions/${name}` });
  }

  /** Wraps bodies of handlers (parameters: input, call) into one extension. */
  async tools(name: string, bodies: Readonly<Record<string, string>>, prelude = ''): Promise<void> {
    const tools = Object.entries(bodies).map(
      ([tool, body]) =>
        `ext.register_tool { name = "${tool}", description = "test", schema = { type = "object" }, handler = function(input, call)\n${body}\nend }`,
    );
    const text = `local uv = require "luv"\n${prelude}\nreturn { name = "${name}", activate = function(ext)\n${tools.join('\n')}\nend }\n`;
    await this.load(`${name}.lua`, text);
  }

  /** One batch; the results are in call order. */
  async batch(specs: readonly CallSpec[], serial = false): Promise<Settled[]> {
    const settled: Settled[] = [];
    const started: number[] = [];
    const calls = specs.map((spec): ToolCall => {
      this.#calls += 1;
      return {
        id: spec.id ?? `call_${this.#calls}`,
        toolName: spec.tool,
        owner: 'panto-lua',
        input: spec.text ?? JSON.stringify(spec.input ?? {}),
        signal: spec.signal ?? new AbortController().signal,
        deadline: Number.POSITIVE_INFINITY,
        update: spec.update ?? (() => {}),
      };
    });
    await this.runtime.source.invokeBatch(calls, {
      session: 'test-session',
      turn: 1,
      cwd: process.cwd(),
      serial,
      started: (index, at) => {
        started[index] = at ?? Number.NaN;
      },
      settled: (index, result, at) => {
        if (settled[index] !== undefined) throw new Error(`call ${index} settled twice`);
        settled[index] = { result, startedAt: started[index] ?? Number.NaN, endedAt: at ?? Number.NaN };
      },
    });
    return settled;
  }

  async call(tool: string, input: Json = {}): Promise<CallResult> {
    const [settled] = await this.batch([{ tool, input }]);
    return settled!.result;
  }

  /** The text of a call that has to succeed. */
  async text(tool: string, input: Json = {}): Promise<string> {
    const result = await this.call(tool, input);
    if (!result.ok) throw new Error(`${tool} failed: ${JSON.stringify(result.error)}`);
    return result.content as string;
  }

  problems(): string[] {
    return this.events.flatMap((event) => (event.type === 'problem' ? [event.message] : []));
  }

  stop(): void {
    const ended = this.runtime.shutdown(5000);
    rmSync(this.dir, { recursive: true, force: true });
    if (!ended) throw new Error('the Lua thread did not end');
  }
}

/** The error of a call that has to fail. */
export function errorOf(result: CallResult) {
  if (result.ok) throw new Error(`expected an error, got ${JSON.stringify(result)}`);
  return result.error;
}
