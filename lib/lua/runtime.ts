// The Lua runtime as the rest of panto sees it: evaluate and activate extensions, run their tools and commands, hear what they report.
import type { Json, ToolSource } from '../core/types.js';
import { type Addon, EventKind, loadAddon, type NativeRuntime } from './addon.js';
import { LuaError, parseCallError } from './errors.js';
import { HostCalls, type LockRunner, type Question } from './host-calls.js';
import { LuaToolSource, type OpenCall } from './source.js';
import { type LuaToolDecl, type ToolRegistered, ToolTable } from './tool-table.js';

export interface LuaRuntimeOptions {
  /** The folder with the Lua that ships (lua/ of the package). */
  readonly luaDir: string;
  /** package.path and package.cpath of the tree. */
  readonly luaPath: string;
  readonly luaCpath: string;
  /** luv.so of the tree; need not exist. */
  readonly luvFile: string;
  /** Where print, io.stdout and io.stderr of extensions go; empty: nowhere. */
  readonly logFile?: string;
  readonly session?: string;
  readonly cwd?: string;
  /** How long Lua code may run without yielding, in milliseconds; 5 s by default. */
  readonly holdLimitMs?: number;
  /** How long a stopped task may clean up before it is closed, in milliseconds; 500 by default. */
  readonly graceMs?: number;
}

export interface EvaluatedEntry {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
}

export interface LuaSourceFile {
  /** The file to evaluate, absolute. */
  readonly path: string;
  /** The extension's own folder, where require looks first. */
  readonly dir: string;
  /** How messages name the file. */
  readonly display: string;
}

export interface LuaCommand {
  readonly name: string;
  readonly description: string;
  readonly extension: string;
}

export type LuaEvent =
  | {
      readonly type: 'notify';
      readonly level: 'info' | 'warn' | 'error';
      readonly text: string;
      readonly extension: string;
    }
  /** An error that belongs to no call; one line. */
  | { readonly type: 'problem'; readonly message: string; readonly traceback?: string }
  /** The set of tools has changed; `source.tools` has the new one. */
  | { readonly type: 'tools_changed' };

/** How long the process waits for the Lua thread when it exits, and when a session ends in order. */
const exitLimitMs = 300;
const defaultHoldLimitMs = 5000;
const defaultGraceMs = 500;
const disposeLimitMs = 500;

interface Request {
  resolve(json: string): void;
  reject(error: Error): void;
}

/** hrtime() less performance.now(). The first use of either takes milliseconds, so the closest pair of a few counts. */
function clockOrigin(addon: Addon): number {
  return Math.max(...Array.from({ length: 5 }, () => addon.hrtime() - performance.now()));
}

export class LuaRuntime {
  readonly source: ToolSource;
  readonly #native: NativeRuntime;
  readonly #tools = new ToolTable();
  readonly #hostCalls = new HostCalls((answer) => {
    // A runtime that has been shut down meanwhile needs no answer.
    this.#control('reply', answer as unknown as Json).catch(() => {});
  });
  readonly #commands = new Map<string, LuaCommand>();
  readonly #requests = new Map<number, Request>();
  readonly #calls = new Map<number, OpenCall>();
  readonly #listeners = new Set<(event: LuaEvent) => void>();
  readonly #onExit: (status: number) => void;
  #lastToken = 0;
  #stopped = false;
  /** Whether the native side keeps the process alive. */
  #isAlive = false;
  /** The Lua thread did not come back: only exitNow may end the process. */
  #lost = false;
  #booted!: (error?: Error) => void;

  private constructor(addon: Addon, options: LuaRuntimeOptions) {
    const path = `${options.luaDir}/?.lua;${options.luaDir}/?/init.lua;${options.luaPath}`;
    this.#native = new addon.Runtime(
      {
        luaDir: options.luaDir,
        modulePath: path,
        moduleCpath: options.luaCpath,
        luvFile: options.luvFile,
        logFile: options.logFile ?? '',
        session: options.session ?? '',
        cwd: options.cwd ?? process.cwd(),
        clockOriginMs: clockOrigin(addon),
        timeOriginMs: performance.timeOrigin,
        holdLimitMs: options.holdLimitMs ?? defaultHoldLimitMs,
        graceMs: options.graceMs ?? defaultGraceMs,
      },
      () => this.#drain(),
    );
    this.#onExit = (status) => {
      // A thread that is still there would be torn down under its own feet, and libuv waits for its blocked pool for ever.
      if (!this.shutdown(exitLimitMs)) addon.exitNow(status);
    };
    process.on('exit', this.#onExit);
    this.source = new LuaToolSource({
      tools: this.#tools,
      start: (calls, serial) => this.#startCalls(calls, serial),
      cancel: (token, isTimeout) => this.#native.cancel(token, isTimeout),
      prepare: (calls) => this.#control('prepare', calls as unknown as Json) as Promise<string[]>,
    });
  }

  /** Starts the Lua thread. Rejects with one line when its Lua side does not boot; one runtime may live in a process at a time. */
  static async start(options: LuaRuntimeOptions): Promise<LuaRuntime> {
    const runtime = new LuaRuntime(loadAddon(), options);
    try {
      await new Promise<void>((resolve, reject) => {
        runtime.#booted = (error) => (error === undefined ? resolve() : reject(error));
        runtime.#isAlive = true;
        runtime.#native.keepAlive(true);
      });
    } catch (error) {
      runtime.shutdown(500);
      throw error;
    } finally {
      runtime.#updateKeepAlive();
    }
    return runtime;
  }

  /** Evaluates a source without side effects. Rejects with a LuaError of one line. */
  async evaluate(file: LuaSourceFile): Promise<readonly EvaluatedEntry[]> {
    const { path, dir, display } = file;
    return (await this.#control('evaluate', { path, dir, display })) as unknown as EvaluatedEntry[];
  }

  /** Runs an entry's `activate`. When it rejects, all that it had registered has been taken back. */
  async activate(entry: number, options: { readonly settings?: Json } = {}): Promise<void> {
    await this.#control('activate', { entry, settings: options.settings ?? {} });
  }

  /** Forgets an entry that is denied or shadowed. */
  async drop(entry: number): Promise<void> {
    await this.#control('drop', { entry });
  }

  commands(): readonly LuaCommand[] {
    return [...this.#commands.values()];
  }

  /** Runs `/name args`; resolves to the text that the command returned. */
  async runCommand(name: string, args: string, signal?: AbortSignal): Promise<string | undefined> {
    const result = (await this.#control('command', { name, args }, signal)) as { text?: string };
    return result.text;
  }

  /** Named locks are the agent's from now on. */
  useLocks(lock: LockRunner): void {
    this.#hostCalls.useLocks(lock);
  }

  on(listener: (event: LuaEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the runtime; open calls settle as cancelled. Idempotent. Returns whether the Lua thread has ended in time. */
  shutdown(limitMs: number): boolean {
    if (this.#stopped) return !this.#lost;
    this.#stopped = true;
    const ended = this.#native.shutdown(limitMs);
    this.#lost = !ended;
    if (ended) process.off('exit', this.#onExit);
    const error = new LuaError({ kind: 'cancelled', message: 'the Lua runtime has been shut down' });
    for (const request of this.#requests.values()) request.reject(error);
    for (const call of this.#calls.values()) call.settle({ ok: false, error: error.detail });
    this.#requests.clear();
    this.#calls.clear();
    return ended;
  }

  async dispose(): Promise<void> {
    this.shutdown(disposeLimitMs);
  }

  #control(name: string, args: Json, signal?: AbortSignal): Promise<Json> {
    if (this.#stopped)
      return Promise.reject(new LuaError({ kind: 'failed', message: 'the Lua runtime has been shut down' }));
    const token = ++this.#lastToken;
    const abort = () => this.#native.cancel(token, false);
    return new Promise<Json>((resolve, reject) => {
      this.#requests.set(token, { resolve: (json) => resolve(JSON.parse(json) as Json), reject });
      this.#native.control(token, 0, name, JSON.stringify(args));
      this.#updateKeepAlive();
      signal?.addEventListener('abort', abort, { once: true });
    }).finally(() => signal?.removeEventListener('abort', abort));
  }

  /** Hands calls to the Lua thread; returns the token of the first. */
  #startCalls(calls: readonly OpenCall[], serial: boolean): number {
    const first = this.#lastToken + 1;
    this.#lastToken += calls.length;
    const deadlines = new Float64Array(calls.length);
    let [tools, ids, inputs] = ['', '', ''];
    for (let i = 0; i < calls.length; i++) {
      const open = calls[i]!;
      const { toolName, id, input, deadline } = open.call;
      const separator = i === 0 ? '' : '\0';
      this.#calls.set(first + i, open);
      tools += separator + toolName;
      ids += separator + id;
      inputs += separator + input;
      deadlines[i] = deadline;
    }
    this.#native.invokeBatch(first, serial, tools, ids, inputs, deadlines);
    this.#updateKeepAlive();
    return first;
  }

  #updateKeepAlive(): void {
    const alive = this.#requests.size + this.#calls.size > 0;
    if (this.#stopped || alive === this.#isAlive) return;
    this.#isAlive = alive;
    this.#native.keepAlive(alive);
  }

  #emit(event: LuaEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #drain(): void {
    if (this.#stopped) return;
    const events = this.#native.drain();
    for (let i = 0; i < events.length; i += 6) {
      this.#handle(
        events[i] as number,
        events[i + 1] as number,
        events[i + 2] as string,
        events[i + 3] as string,
        events[i + 4] as number,
        events[i + 5] as number,
      );
    }
    this.#updateKeepAlive();
  }

  #handle(kind: number, token: number, name: string, body: string, startedMs: number, endedMs: number): void {
    switch (kind) {
      case EventKind.ready:
        this.#booted();
        break;
      case EventKind.bootFailed:
        this.#booted(new Error(`the Lua runtime does not start: ${body}`));
        break;
      case EventKind.started:
        this.#calls.get(token)?.started(startedMs);
        break;
      case EventKind.update:
        this.#calls.get(token)?.update(body);
        break;
      case EventKind.post:
        this.#handlePost(name, JSON.parse(body) as Record<string, Json>);
        break;
      case EventKind.problem: {
        const { extension, ...error } = JSON.parse(body) as { extension?: string; message: string };
        const failure = new LuaError(parseCallError(JSON.stringify(error)), extension);
        const { traceback } = failure.detail;
        this.#emit({ type: 'problem', message: failure.message, ...(traceback !== undefined && { traceback }) });
        break;
      }
      default:
        this.#settle(kind, token, body, startedMs, endedMs);
        break;
    }
  }

  #settle(kind: number, token: number, body: string, startedMs: number, endedMs: number): void {
    const request = this.#requests.get(token);
    if (request !== undefined) {
      this.#requests.delete(token);
      if (kind === EventKind.settledError) request.reject(new LuaError(parseCallError(body)));
      else request.resolve(body);
      return;
    }
    const call = this.#calls.get(token);
    this.#calls.delete(token);
    call?.finish(kind, body, startedMs, endedMs);
  }

  #handlePost(name: string, message: Record<string, Json>): void {
    switch (name) {
      case 'register_tool':
        this.#tools.add(message as unknown as ToolRegistered);
        this.#emit({ type: 'tools_changed' });
        break;
      case 'unregister_tool':
        this.#tools.remove(message.name as string);
        this.#emit({ type: 'tools_changed' });
        break;
      case 'register_command':
        this.#commands.set(message.name as string, message as unknown as LuaCommand);
        break;
      case 'unregister_command':
        this.#commands.delete(message.name as string);
        break;
      case 'ask':
        this.#hostCalls.ask(message as unknown as Question);
        break;
      case 'withdraw':
        this.#hostCalls.withdraw(message.id as number);
        break;
      case 'unlock':
        this.#hostCalls.unlock(message.id as number);
        break;
      case 'notify':
        this.#emit({ type: 'notify', ...(message as { level: 'info'; text: string; extension: string }) });
        break;
      default:
        throw new Error(`unknown message from Lua: ${name}`);
    }
  }
}

export type { LuaToolDecl };
