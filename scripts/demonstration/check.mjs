// Holds what a run of scripts/demo did against what it had to do. Every number comes from the events of that run.

/**
 * @param {object[]} events  the JSON lines of the run
 * @param {ReturnType<import('./turns.mjs').demoTurns>} script
 * @returns {{ problems: string[], summary: string }}
 */
export function checkRun(events, { turns, batch }) {
  const problems = [];
  const results = events.filter(({ type }) => type === 'tool_result');
  const resultOf = (turn, index) => results.find(({ id }) => id === `call_${turn + 1}_${index + 1}`);
  const calls = turns.flatMap((turn, t) => turn.calls.map((call, i) => ({ call, result: resultOf(t, i) })));

  for (const { call, result } of calls) {
    const problem = problemOf(call, result);
    if (problem) problems.push(`${call.name} ${JSON.stringify(call.input)}: ${problem}`);
  }
  const ids = new Set(results.map(({ id }) => id));
  if (results.length !== calls.length || ids.size !== calls.length) {
    problems.push(`${calls.length} calls were made, and ${results.length} results came for ${ids.size} of them`);
  }
  const played = events.filter(({ type }) => type === 'turn_end').length;
  if (played !== turns.length) problems.push(`${played} turns of ${turns.length} were played`);
  const end = events.at(-1);
  if (end?.type !== 'agent_end' || end.reason !== 'done') problems.push(`the last event is ${JSON.stringify(end)}`);

  const inBatch = turns[batch].calls.map((call, i) => ({ name: call.name, ...resultOf(batch, i) }));
  const lua = inBatch.filter(({ name }) => name !== 'bash');
  if (problems.length > 0) return { problems, summary: '' };
  problems.push(...overlapProblems(inBatch));
  const together = Math.round(latest(lua) - earliest(lua));
  const alone = Math.round(lua.reduce((sum, { started_ms, ended_ms }) => sum + ended_ms - started_ms, 0));
  if (together > alone / 2)
    problems.push(`the batch took ${together} ms, more than half of the ${alone} ms of its calls`);
  const summary = `${results.length} calls in ${played} turns; a batch of ${lua.length} calls took ${together} ms, the sum of its calls ${alone} ms`;
  return { problems, summary };
}

const earliest = (results) => Math.min(...results.map(({ started_ms }) => started_ms));
const latest = (results) => Math.max(...results.map(({ ended_ms }) => ended_ms));

function problemOf(call, result) {
  if (!result) return 'there is no result';
  if (result.name !== call.name) return `its result is one of ${result.name}`;
  if (result.is_error !== Boolean(call.fails)) return `${call.fails ? 'it succeeded' : 'it failed'}: ${result.content}`;
  if (!call.result.test(result.content)) return `unexpected result: ${result.content}`;
  return undefined;
}

/** All calls that wait have to have begun before the first of them ends. */
function overlapProblems(inBatch) {
  const waiting = (name) => inBatch.filter((result) => result.name === name);
  const problems = [];
  for (const name of ['fetch', 'bash']) {
    const lastStart = Math.max(...waiting(name).map(({ started_ms }) => started_ms));
    const firstEnd = Math.min(...waiting(name).map(({ ended_ms }) => ended_ms));
    if (lastStart >= firstEnd)
      problems.push(`the ${name} calls did not overlap: one began at ${lastStart}, the first ended at ${firstEnd}`);
  }
  return problems;
}
