// scripts/demo, from the point where the clone is set up, and the check that it holds its own run against.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../lib/core/package-root.js';

interface DemoCall {
  readonly name: string;
  readonly input: Record<string, unknown>;
  readonly result: RegExp;
  readonly fails?: boolean;
}
interface DemoScript {
  readonly turns: readonly { readonly text: string; readonly calls: readonly DemoCall[] }[];
  readonly batch: number;
}
interface DemoEvent {
  type: string;
  id?: string;
  name?: string;
  is_error?: boolean;
  content?: string;
  started_ms?: number;
  ended_ms?: number;
  reason?: string;
}

const folder = join(packageRoot, 'scripts/demonstration');
const { checkRun } = (await import(pathToFileURL(join(folder, 'check.mjs')).href)) as {
  checkRun(events: readonly DemoEvent[], script: DemoScript): { problems: string[]; summary: string };
};

test('the demo ends well, and its last line has the numbers of the run', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'main.mjs')], { encoding: 'utf8' });
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  const pattern =
    /^demo: ok: (\d+) calls in (\d+) turns; a batch of (\d+) calls took (\d+) ms, the sum of its calls (\d+) ms$/;
  const numbers = pattern.exec(last)?.slice(1).map(Number);
  if (status !== 0 || !numbers) throw new Error(`status ${status}: ${stdout}${stderr}`);
  const [calls, turns, batch, together, alone] = numbers as [number, number, number, number, number];
  const shown = stdout.split('\n').filter((line) => /^ {2}[✓✗] /.test(line));
  expect(calls).toBe(shown.length);
  expect(turns).toBeGreaterThan(3);
  expect(shown.filter((line) => /^ {2}✓ (fetch|counter) .*page/.test(line)).length).toBeGreaterThanOrEqual(batch);
  expect(together).toBeLessThanOrEqual(alone / 2);
});

describe('the check of the demo', () => {
  const call = (name: string, result: RegExp, fails = false) => ({ name, input: {}, result, fails });
  const script: DemoScript = {
    turns: [
      { text: 'a', calls: [call('echo', /hi/), call('echo', /wrong/, true)] },
      { text: 'b', calls: ['fetch', 'fetch', 'fetch', 'bash', 'bash'].map((name) => call(name, /ok/)) },
    ],
    batch: 1,
  };
  let events: DemoEvent[];
  const find = (id: string) => events.find((event) => event.id === id)!;
  beforeEach(() => {
    events = script.turns.flatMap(({ calls }, turn) => [
      ...calls.map(({ name, result, fails }, index) => ({
        type: 'tool_result',
        id: `call_${turn + 1}_${index + 1}`,
        name,
        is_error: fails ?? false,
        content: result.source,
        started_ms: 100 + index,
        ended_ms: 200 + index,
      })),
      { type: 'turn_end' },
    ]);
    events.push({ type: 'agent_end', reason: 'done' });
  });
  const problems = () => checkRun(events, script).problems.join('\n');

  test('is content with a run that did what it had to do', () => {
    expect(checkRun(events, script)).toEqual({
      problems: [],
      summary: '7 calls in 2 turns; a batch of 3 calls took 102 ms, the sum of its calls 300 ms',
    });
  });

  test.each<[string, () => void, RegExp]>([
    ['a result is missing', () => events.splice(1, 1), /echo .*: there is no result/],
    ['a result came twice', () => events.unshift({ ...events[0]! }), /7 calls were made, and 8 results/],
    ['a call failed', () => Object.assign(find('call_2_1'), { is_error: true }), /fetch .*: it failed: ok/],
    ['a call succeeded that had to fail', () => Object.assign(find('call_1_2'), { is_error: false }), /it succeeded/],
    ['a result is another', () => Object.assign(find('call_1_1'), { content: 'ho' }), /unexpected result: ho/],
    ['a turn is missing', () => events.splice(2, 1), /1 turns of 2 were played/],
    ['the run did not come to its end', () => Object.assign(events.at(-1)!, { reason: 'failed' }), /the last event/],
    [
      'Lua calls ran one after another',
      () => [1, 2, 3].map((n) => Object.assign(find(`call_2_${n}`), { started_ms: n * 100, ended_ms: n * 100 + 90 })),
      /the fetch calls did not overlap[\s\S]*more than half/,
    ],
    [
      'commands ran one after another',
      () => Object.assign(find('call_2_5'), { started_ms: 300, ended_ms: 400 }),
      /the bash calls did not overlap/,
    ],
  ])('notices when %s', (_name, spoil, expected) => {
    spoil();
    expect(problems()).toMatch(expected);
  });
});
