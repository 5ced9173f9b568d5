// The runtime as the rows drive it: tools written in the row, calls made before the clock starts.
import type { BatchContext, CallResult, ToolCall } from '../lib/core/types.js';
import prepareTree from '../test/global-setup.js';
import { LuaHarness } from '../test/lua-support.js';

/** Runs `work` with a runtime that has these tools; bodies of handlers (parameters: input, call) by name. */
export async function withLua<T>(
  tools: Readonly<Record<string, string>>,
  work: (lua: LuaHarness) => Promise<T>,
  prelude = '',
): Promise<T> {
  await prepareTree();
  const lua = await LuaHarness.start();
  try {
    await lua.tools('bench', tools, prelude);
    return await work(lua);
  } finally {
    lua.stop();
  }
}

let lastCall = 0;

/** Calls as the agent makes them: each has an id and a signal of its own. */
export function makeCalls(toolName: string, input: string, count: number): ToolCall[] {
  return Array.from({ length: count }, () => ({
    id: `call_${++lastCall}`,
    toolName,
    owner: 'panto-lua',
    input,
    signal: new AbortController().signal,
    deadline: Number.POSITIVE_INFINITY,
    update: () => {},
  }));
}

/** One batch to its end. Rejects when a call did not succeed: a fast failure is no figure. */
export async function runBatch(lua: LuaHarness, calls: readonly ToolCall[]): Promise<void> {
  let failed: CallResult | undefined;
  let settled = 0;
  const batch: BatchContext = {
    session: 'bench',
    turn: 1,
    cwd: '/',
    serial: false,
    started: () => {},
    settled: (_index, result) => {
      settled += 1;
      if (!result.ok) failed = result;
    },
  };
  await lua.runtime.source.invokeBatch(calls, batch);
  if (failed !== undefined) throw new Error(`a call failed: ${JSON.stringify(failed)}`);
  if (settled !== calls.length) throw new Error(`${calls.length - settled} of ${calls.length} calls have no result`);
}
