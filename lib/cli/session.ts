// A session: the whole start (DESIGN: arguments, config, trust, tree, Lua, extensions, agent) behind one function, whatever the
// interface. Only what the interface can do differs: ask or not, wait for a slow start or not.
import { Agent } from '../core/agent.js';
import { now } from '../core/clock.js';
import { ToolRegistry } from '../core/registry.js';
import type { Gates, Refusal, ToolCall } from '../core/types.js';
import { type Answer, type PermissionMode, permissionGate } from '../extensions/permission.js';
import type { TrustReport } from '../extensions/trust.js';
import { treeAt, treeIsCurrent } from '../rocks/index.js';
import { hideFromCommands, nativeTools } from '../tools/index.js';
import { loadAll } from './extension-loading.js';
import { type SessionLua, startLua } from './lua-runtime.js';
import { openModel } from './model.js';
import type { Notify } from './notice.js';
import { readSetup } from './setup.js';
import { systemPrompt } from './system-prompt.js';

/** What the command line said. */
export interface SessionArguments {
  readonly model: string | undefined;
  readonly permission: PermissionMode | undefined;
  readonly trust: boolean;
  readonly debug: boolean;
}

export interface SessionOptions extends SessionArguments {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly notify: Notify;
  /** The person, where there is one to ask. */
  readonly person?: {
    trusts(report: TrustReport): Promise<boolean>;
    permits(call: ToolCall): Promise<Answer>;
  };
  /** Do not wait for a tree that has to be built: open without Lua and load the extensions when it is there. */
  readonly slowStartInBackground?: boolean;
  /** Awaited before each request to the model: an interface whose reader is slow holds the agent up here. */
  readonly beforeRequest?: () => Promise<void>;
  /** Ends a start that takes long. */
  readonly signal: AbortSignal;
  /** For tests. */
  readonly startLua?: typeof startLua;
}

export interface Session {
  readonly agent: Agent;
  /** When it began, on the clock of the events: milliseconds since the epoch. */
  readonly startedAt: number;
  readonly model: string;
  commands(): ReturnType<SessionLua['commands']>;
  runCommand(name: string, args: string, signal: AbortSignal): Promise<string | undefined>;
  /** Ends Lua, workers and what they started. */
  dispose(): Promise<void>;
}

/** @throws Error with one line: bad config, no model, no key; what merely fails to load is told through `notify` */
export async function openSession(options: SessionOptions): Promise<Session> {
  const startedAt = now();
  const { notify, person } = options;
  const setup = await readSetup({ ...options, askTrust: person && ((report) => person.trusts(report)) });
  const provider = await openModel(options.model, setup, notify);
  const { config, cwd, root } = setup;
  hideFromCommands(Object.values(config.providers).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []));

  const registry = new ToolRegistry();
  const gates: Gates = {
    call: permissionGate({
      mode: options.permission ?? config.permissions.mode,
      isReadOnly: (name) => registry.declaration(name)?.readOnly === true,
      ...(person && { ask: (call) => person.permits(call) }),
    }),
    async context(messages) {
      await options.beforeRequest?.();
      return messages;
    },
  };
  const agent = new Agent({
    provider,
    registry,
    gates,
    cwd,
    system: systemPrompt({ cwd, root }),
    parallelTools: config.agent.parallelTools,
    maxTurns: config.agent.maxTurns,
    workers: config.agent.workers,
    toolTimeoutMs: config.agent.toolTimeoutMs,
  });
  const refuse = ({ reason }: Refusal) => notify({ level: 'warning', message: reason });
  const addTools = (tools: typeof nativeTools) => {
    for (const tool of tools) {
      const { refused } = agent.registerTool(tool);
      if (refused) refuse(refused);
    }
  };
  addTools(nativeTools.filter((tool) => !config.agent.disabledTools.includes(tool.name)));

  const closing = new AbortController();
  const signal = AbortSignal.any([options.signal, closing.signal]);
  let runtime: SessionLua | undefined;
  const load = async () => {
    const loaded = await loadAll(setup, { notify, signal, startLua: options.startLua ?? startLua });
    runtime = loaded.runtime;
    addTools(loaded.tools);
    if (!runtime) return;
    runtime.useLocks((name, run, lockOptions) => agent.lock(name, run, lockOptions));
    const registration = agent.registerToolSource(runtime.source);
    const told = new Set<string>();
    const tell = (refusals: readonly Refusal[]) => {
      for (const refusal of refusals) if (!told.has(refusal.reason)) refuse(refusal);
      for (const { reason } of refusals) told.add(reason);
    };
    tell(registration.refused);
    // Extensions may add and take back tools at any time; a turn works with those that were there when it began.
    runtime.on((event) => {
      if (event.type === 'tools_changed') tell(registration.refresh());
    });
  };
  const dispose = async () => {
    closing.abort();
    await loading.catch(() => {});
    await agent.dispose();
    await runtime?.dispose();
  };
  const loading = load();
  if (options.slowStartInBackground && !treeIsCurrent(treeAt(setup.paths.dataDir))) {
    loading.then(
      () => notify({ level: 'info', message: 'extensions are loaded' }),
      (error: Error) => {
        if (!signal.aborted) notify({ level: 'error', message: error.message });
      },
    );
  } else {
    await loading.catch(async (error) => {
      await dispose();
      throw error;
    });
  }
  return {
    agent,
    startedAt,
    model: provider.id,
    commands: () => runtime?.commands() ?? [],
    async runCommand(name, args, commandSignal) {
      return runtime?.runCommand(name, args, commandSignal);
    },
    dispose,
  };
}
