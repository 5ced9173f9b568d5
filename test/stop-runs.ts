// Runs a runaway handler beside two busy siblings and stops it, by the abort of its call or by the hold limit; says what went wrong.
import type { CallResult } from '../lib/core/types.js';
import { LuaHarness } from './lua-support.js';
import { type RunawayKind, runawayKinds } from './stop-kinds.js';

export type StopWay = 'abort' | 'hold';

export interface StopOutcome {
  /** Empty when all is right. */
  readonly faults: readonly string[];
  /** From the abort, or the end of the hold limit, to the end of the call, in milliseconds. */
  readonly tookMs: number;
  /** The same without the grace and the closers' time that such a handler is given. */
  readonly lagMs: number;
}

interface Limits {
  readonly holdLimitMs: number;
  readonly graceMs: number;
}

const abortAfterMs = 20;
const closersMs = 100;
/** No test of speed: what takes longer hangs. */
const endLimitMs = 20_000;

const prelude = `
local records, stop = {}, {}

local function new_guards(call)
  local record = { opened = 0, closed = 0, twice = 0, began = 0 }
  records[call.id] = record
  local function g(work)
    local closed = false
    record.opened = record.opened + 1
    return setmetatable({}, { __close = function(_, err)
      if closed then record.twice = record.twice + 1 end
      closed = true
      record.closed = record.closed + 1
      if work then work(err) end
    end })
  end
  return g, function()
    panto.async.sleep(0)
    record.began = uv.hrtime()
    call:update("began")
  end
end
`;

// Computes in stretches of a few milliseconds, and checks at every turn that nothing of it was cut short.
const sibling = `
  local rounds = 0
  while not stop[input.id] do
    local sum = 0
    for i = 1, 70000 do sum = sum + i % 7 end
    assert(sum == 210000, "the sum is " .. sum)
    local ran = 0
    local ok, err = pcall(function()
      local _ <close> = setmetatable({}, { __close = function() panto.async.sleep(0) ran = ran + 1 end })
      panto.async.sleep(0.001)
    end)
    assert(ok, err)
    assert(ran == 1)
    local total = 0
    for v in coroutine.wrap(function() for i = 1, 3 do panto.async.sleep(0) coroutine.yield(i) end end) do total = total + v end
    assert(total == 6)
    local t = {}
    for i = 1, 200 do t[i] = i * 7919 % 211 end
    table.sort(t, function(a, b) return a < b end)
    for i = 2, 200 do assert(t[i - 1] <= t[i]) end
    assert(("x"):rep(300):gsub("x", function() return "yz" end) == ("yz"):rep(300))
    rounds = rounds + 1
  end
  return "sound"`;

function toolName(kind: RunawayKind): string {
  return kind.name.replace(/\W+/g, '_');
}

/** A runtime whose tools are the runaway handlers. */
export async function startRunaways(limits: Limits): Promise<LuaHarness> {
  const lua = await LuaHarness.start(limits);
  const bodies = runawayKinds.map((kind): [string, string] => [
    toolName(kind),
    `local g, began = new_guards(call)\n${kind.body}`,
  ]);
  await lua.tools(
    'runaway',
    {
      ...Object.fromEntries(bodies),
      sibling,
      stop_siblings: `stop[input.id] = true`,
      record: `local record = records[input.id] records[input.id] = nil return { details = record }`,
    },
    prelude,
  );
  return lua;
}

interface Record {
  readonly opened: number;
  readonly closed: number;
  readonly twice: number;
  /** uv.hrtime() */
  readonly began: number;
}

function checkResult(result: CallResult, way: StopWay, limits: Limits, kind: RunawayKind): string[] {
  if (result.ok) return [`it succeeded with ${JSON.stringify(result.content)}`];
  const { kind: reported, message, where = 'nowhere' } = result.error;
  if (way === 'abort') return reported === 'cancelled' ? [] : [`it was reported as ${reported}: ${message}`];
  const expected = `stopped: it ran for more than ${limits.holdLimitMs / 1000} s without yielding (lua.hold_limit)`;
  const place = /^runaway extensions\/runaway\.lua:\d+$/;
  const said = kind.inChild ? message.endsWith(`: ${expected}`) : message === expected && reported === 'timeout';
  return said && place.test(where) ? [] : [`it was reported as ${reported}: ${message} (${where})`];
}

function checkGuards(record: Record): string[] {
  const faults: string[] = [];
  if (record.opened === 0) faults.push('it opened nothing: the test is void');
  if (record.began === 0) faults.push('it never began to run away: the test is void');
  if (record.twice > 0) faults.push(`${record.twice} values were closed twice`);
  if (record.closed !== record.opened) faults.push(`${record.closed} of ${record.opened} values were closed`);
  return faults;
}

let runs = 0;

/** The settings of the runtime must be `limits`; for an abort the hold limit must be out of reach. */
export async function stopOnce(
  lua: LuaHarness,
  kind: RunawayKind,
  way: StopWay,
  limits: Limits,
): Promise<StopOutcome> {
  runs += 1;
  const id = `run_${runs}`;
  const controller = new AbortController();
  const siblings = lua.batch([1, 2].map(() => ({ tool: 'sibling', input: { id } })));
  let requestedAt = Number.NaN;
  const abort = () => {
    requestedAt = performance.timeOrigin + performance.now();
    controller.abort();
  };
  const update = () => {
    if (way === 'abort') setTimeout(abort, abortAfterMs);
  };
  const victim = lua.batch([{ tool: toolName(kind), id, signal: controller.signal, update }]);
  let endTimer: NodeJS.Timeout | undefined;
  const hangs = new Promise<never>((_, reject) => {
    endTimer = setTimeout(() => reject(new Error(`${kind.name} does not end`)), endLimitMs);
  });
  const [settled] = await Promise.race([victim, hangs]);
  clearTimeout(endTimer);
  await lua.text('stop_siblings', { id });
  const faults = checkResult(settled!.result, way, limits, kind);
  for (const { result } of await siblings) {
    if (!result.ok || result.content !== 'sound') faults.push(`a sibling was hit: ${JSON.stringify(result)}`);
  }
  const recordResult = await lua.call('record', { id });
  const record = (recordResult as { details?: unknown }).details as Record;
  faults.push(...checkGuards(record));
  if (way === 'hold') {
    const hrtimeZero = performance.timeOrigin + performance.now() - Number(process.hrtime.bigint()) / 1e6;
    requestedAt = record.began / 1e6 + hrtimeZero + limits.holdLimitMs;
  }
  const tookMs = settled!.endedAt - requestedAt;
  const given = { cancel: 0, close: limits.graceMs, cut: limits.graceMs + closersMs }[kind.by];
  return { faults, tookMs, lagMs: tookMs - given };
}
