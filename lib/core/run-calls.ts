// Runs the admitted calls of a turn: each native call is a group of its own, all calls of one source are one group and one batch.
// Groups run at once, or one after another where parallel_tools is off. Every call has settled when runCalls returns.
import type { AdmittedCall } from './admit-calls.js';
import type { LiveCall } from './live-call.js';
import type { Locks, LockTicket } from './locks.js';
import { errorMessage, failure } from './results.js';
import type { BatchContext, Tool, ToolSource } from './types.js';
import type { WorkerPool } from './worker-pool.js';

/** A source that does not end a call that was settled for it keeps the call's locks for no longer than this. */
const REAP_MS = 1000;

export interface RunContext {
  readonly session: string;
  readonly turn: number;
  readonly cwd: string;
  readonly serial: boolean;
  readonly locks: Locks;
  readonly workers: () => WorkerPool;
}

type Group =
  | { readonly kind: 'native'; readonly tool: Tool; readonly member: AdmittedCall }
  | { readonly kind: 'source'; readonly source: ToolSource; readonly members: AdmittedCall[] };

export async function runCalls(calls: readonly AdmittedCall[], context: RunContext): Promise<void> {
  const groups = groupCalls(calls);
  if (context.serial) {
    for (const group of groups) await runGroupAlone(group, context);
    return;
  }
  // Requested in call order before anything starts, so that locks are granted in call order.
  const tickets = new Map(calls.map(({ call, locks }) => [call, context.locks.request(locks)]));
  const ticketOf = ({ call }: AdmittedCall) => tickets.get(call)!;
  await Promise.all(
    groups.map((group) =>
      group.kind === 'native'
        ? runNative(group.tool, group.member.call, ticketOf(group.member), context)
        : runSource(group.source, group.members, ticketOf, context),
    ),
  );
}

/** In order of each group's first call. */
function groupCalls(calls: readonly AdmittedCall[]): Group[] {
  const groups: Group[] = [];
  const bySource = new Map<ToolSource, AdmittedCall[]>();
  for (const member of calls) {
    const { registered } = member.entry;
    if (registered.kind === 'single') {
      groups.push({ kind: 'native', tool: registered.tool, member });
      continue;
    }
    const members = bySource.get(registered.source);
    if (members) {
      members.push(member);
    } else {
      const first = [member];
      bySource.set(registered.source, first);
      groups.push({ kind: 'source', source: registered.source, members: first });
    }
  }
  return groups;
}

/** The calls of a serial batch never overlap, so the batch holds the locks of all its calls as one. */
async function runGroupAlone(group: Group, context: RunContext): Promise<void> {
  const members = group.kind === 'native' ? [group.member] : group.members;
  const ticket = context.locks.request(members.flatMap(({ locks }) => locks));
  if (group.kind === 'native') return runNative(group.tool, group.member.call, ticket, context);
  await Promise.race([ticket.granted, allSettled(members)]);
  let left = members.length;
  await invoke(group.source, members, context, () => {
    if (--left === 0) ticket.release();
  });
}

async function runNative(tool: Tool, call: LiveCall, ticket: LockTicket, context: RunContext): Promise<void> {
  await Promise.race([ticket.granted, call.settled]);
  if (call.isSettled) return ticket.release();
  const ended = context.workers().run({
    id: call.id,
    tool: tool.name,
    module: tool.module.href,
    input: call.input,
    cwd: context.cwd,
    signal: call.signal,
    onStart: () => call.started(),
    onUpdate: (partial) => call.update(partial),
    onResult: (result) => call.settle(result),
  });
  void ended.then(ticket.release);
  await call.settled;
}

/** Calls that hold their locks go as one batch; one that has to wait for a lock follows by itself and delays nobody. */
async function runSource(
  source: ToolSource,
  members: readonly AdmittedCall[],
  ticketOf: (member: AdmittedCall) => LockTicket,
  context: RunContext,
): Promise<void> {
  const ready = members.filter((member) => ticketOf(member).immediate);
  const late = members.filter((member) => !ticketOf(member).immediate);
  const release = (member: AdmittedCall) => ticketOf(member).release();
  await Promise.all([
    invoke(source, ready, context, release),
    ...late.map(async (member) => {
      await Promise.race([ticketOf(member).granted, member.call.settled]);
      await invoke(source, [member], context, release);
    }),
  ]);
}

/**
 * One invokeBatch over the members that have not settled. Returns when all have; `onEnd` is called once per member, when the source is
 * through with it, which is later where the call was aborted and the source takes its time.
 */
async function invoke(
  source: ToolSource,
  members: readonly AdmittedCall[],
  context: RunContext,
  onEnd: (member: AdmittedCall) => void,
): Promise<void> {
  const open = new Set(members);
  const end = (member: AdmittedCall) => {
    if (open.delete(member)) onEnd(member);
  };
  const running = members.filter(({ call }) => !call.isSettled);
  for (const member of members) if (member.call.isSettled) end(member);
  if (running.length === 0) return;

  const { session, turn, cwd, serial } = context;
  const batch: BatchContext = {
    session,
    turn,
    cwd,
    serial,
    started: (index, at) => running[index]?.call.started(at),
    settled: (index, result, at) => {
      const member = running[index];
      if (!member) return;
      member.call.settle(result, at);
      end(member);
    },
  };
  const calls = running.map(({ call }) => call);
  startClocks(calls, serial);
  const endAll = () => running.forEach(end);
  void invokeSafely(source, calls, batch).then(endAll);
  await allSettled(running);
  setTimeout(endAll, REAP_MS).unref();
}

/** Deadlines begin with the batch; in a serial one with the call's turn, which is when all before it have settled. */
function startClocks(calls: readonly LiveCall[], serial: boolean): void {
  if (!serial) {
    for (const call of calls) call.handOver();
    return;
  }
  const startNext = () => calls.find((call) => !call.isSettled)?.handOver();
  for (const call of calls) void call.settled.then(startNext);
  startNext();
}

/** The boundary to a source: whatever it does, each of its calls has settled when this resolves. It never rejects. */
async function invokeSafely(source: ToolSource, calls: readonly LiveCall[], batch: BatchContext): Promise<void> {
  let cause = `${source.name} ended its batch without a result for this call`;
  try {
    await source.invokeBatch(calls, batch);
  } catch (error) {
    cause = `${source.name} failed: ${errorMessage(error)}`;
  }
  for (const call of calls) {
    if (call.isSettled) continue;
    if (call.signal.aborted) call.settleAborted();
    else call.settle(failure('source_failed', cause, { where: call.toolName }));
  }
}

function allSettled(members: readonly AdmittedCall[]): Promise<unknown> {
  return Promise.all(members.map(({ call }) => call.settled));
}
