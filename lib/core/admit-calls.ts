// From the calls of a message to calls that may run: parse, prepare, validate, the batch gate, the call gates, validate again what
// a gate changed. A call that fails a step settles there; its siblings go on. An abort has settled all calls by itself.
import { untilAborted } from './abort.js';
import type { LiveCall } from './live-call.js';
import { lockNames } from './locks.js';
import type { ToolEntry, ToolSet } from './registry.js';
import { errorMessage, failure } from './results.js';
import { compileSchema } from './schema.js';
import type { Gates, ToolSource } from './types.js';

interface Candidate {
  readonly call: LiveCall;
  readonly entry: ToolEntry;
}

/** A call whose arguments are valid and that no gate refused. */
export interface AdmittedCall extends Candidate {
  /** Names of the locks that it holds while it runs. */
  readonly locks: readonly string[];
}

export interface Admission {
  readonly gates: Gates;
  readonly tools: ToolSet;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

/** The calls that may run, in order; all others have settled. */
export async function admitCalls(calls: readonly LiveCall[], admission: Admission): Promise<AdmittedCall[]> {
  let candidates = calls.flatMap((call) => findTool(call, admission.tools) ?? []);
  candidates = candidates.filter(isObject);
  candidates = await prepare(candidates, admission);
  candidates = await validate(candidates);
  candidates = await askBatchGate(candidates, admission);
  candidates = await askCallGates(candidates, admission);
  const admitted = candidates.map(async ({ call, entry }) => {
    const locks = call.parsed.ok ? await lockNames(entry.decl, call.parsed.value, admission.cwd) : [];
    return { call, entry, locks };
  });
  return (await Promise.all(admitted)).filter(({ call }) => !call.isSettled);
}

function findTool(call: LiveCall, tools: ToolSet): Candidate | undefined {
  const entry = tools.lookup(call.toolName);
  if (entry) return { call, entry };
  const names = tools.declarations.map((decl) => decl.name).join(', ');
  call.settle(
    failure('unknown_tool', `there is no tool of this name; the tools are: ${names || 'none'}`, {
      where: call.toolName,
    }),
  );
  return undefined;
}

function isObject(candidate: Candidate): boolean {
  const { parsed } = candidate.call;
  if (!parsed.ok) refuse(candidate, 'invalid_input', parsed.cause);
  return parsed.ok;
}

/** One `prepare` per source that has it, over all its calls of the turn. */
async function prepare(candidates: Candidate[], { signal }: Admission): Promise<Candidate[]> {
  const bySource = new Map<ToolSource, Candidate[]>();
  for (const candidate of candidates) {
    const { registered } = candidate.entry;
    if (registered.kind !== 'source' || !registered.source.prepare) continue;
    const group = bySource.get(registered.source);
    if (group) group.push(candidate);
    else bySource.set(registered.source, [candidate]);
  }
  await Promise.all([...bySource].map(([source, group]) => prepareGroup(source, group, signal)));
  return unsettled(candidates);
}

async function prepareGroup(source: ToolSource, group: readonly Candidate[], signal: AbortSignal): Promise<void> {
  try {
    const calls = group.map(({ call }) => ({ toolName: call.toolName, input: call.input }));
    const texts = await untilAborted((async () => source.prepare!(calls))(), signal);
    for (const [index, candidate] of group.entries()) {
      const text = texts[index];
      if (typeof text !== 'string')
        refuse(candidate, 'source_failed', `prepare of ${source.name} returned no arguments`);
      else if (text !== candidate.call.input) {
        candidate.call.replaceInput(text);
        isObject(candidate);
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    for (const candidate of group) {
      refuse(candidate, 'source_failed', `prepare of ${source.name} failed: ${errorMessage(error)}`);
    }
  }
}

async function validate(candidates: Candidate[]): Promise<Candidate[]> {
  for (const candidate of candidates) await validateOne(candidate, '');
  return unsettled(candidates);
}

/** `because` says who is to blame where it is not the model. */
async function validateOne(candidate: Candidate, because: string): Promise<void> {
  try {
    const { parsed } = candidate.call;
    const problem = parsed.ok ? (await compileSchema(candidate.entry.decl.inputSchema))(parsed.value) : parsed.cause;
    if (problem !== undefined) refuse(candidate, 'invalid_input', `${because}invalid arguments: ${problem}`);
  } catch (error) {
    refuse(candidate, 'failed', `its schema does not compile: ${errorMessage(error)}`);
  }
}

/** An error in a gate blocks: all that it was asked about. */
async function askBatchGate(candidates: Candidate[], { gates, signal }: Admission): Promise<Candidate[]> {
  if (!gates.batch || candidates.length === 0) return candidates;
  try {
    const refusals = await untilAborted(gates.batch(candidates.map(({ call }) => call)), signal);
    for (const candidate of candidates) {
      const reason = refusals.get(candidate.call.id);
      if (reason !== undefined) refuse(candidate, 'denied', reason);
    }
  } catch (error) {
    if (!signal.aborted) {
      for (const candidate of candidates) refuse(candidate, 'denied', `a gate failed: ${errorMessage(error)}`);
    }
  }
  return unsettled(candidates);
}

/** One call after the other: a gate may ask the person, and questions queue. */
async function askCallGates(candidates: Candidate[], { gates, signal }: Admission): Promise<Candidate[]> {
  if (!gates.call) return candidates;
  for (const candidate of candidates) {
    if (candidate.call.isSettled) continue;
    try {
      const answer = await untilAborted(gates.call(candidate.call), signal);
      if ('refuse' in answer) refuse(candidate, 'denied', answer.refuse);
      else if (answer.input !== undefined && answer.input !== candidate.call.input) {
        candidate.call.replaceInput(answer.input);
        await validateOne(candidate, 'a gate changed the call: ');
      }
    } catch (error) {
      if (!signal.aborted) refuse(candidate, 'denied', `a gate failed: ${errorMessage(error)}`);
    }
  }
  return unsettled(candidates);
}

function refuse({ call }: Candidate, kind: Parameters<typeof failure>[0], message: string): void {
  call.settle(failure(kind, message, { where: call.toolName }));
}

function unsettled(candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ call }) => !call.isSettled);
}
