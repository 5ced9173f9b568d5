// The benchmark as a program: its rows run and it judges them. What the figures are is no matter of a test.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Report } from '../bench/row.js';
import { rows } from '../bench/rows/index.js';
import { packageRoot } from '../lib/core/package-root.js';

function bench(...args: string[]) {
  const program = join(packageRoot, 'bench/run.mjs');
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', maxBuffer: 2 ** 26 });
}

test('every row can be measured, and --json tells all of it', () => {
  const { status, stdout, stderr } = bench('--quick', '--json');
  expect(stderr).toBe('');
  expect(status).toBe(0);
  const result = JSON.parse(stdout) as { quick: boolean; rows: Report[]; errors: unknown[] };
  expect(result).toMatchObject({ quick: true, errors: [] });
  expect(result.rows.map(({ name }) => name)).toEqual(rows.map(({ name }) => name));
  for (const { name, limit, ratio, verdict, subject, reference } of result.rows) {
    const { limit: declared, reference: label } = rows.find((row) => row.name === name)!;
    expect(subject.samples).toBeGreaterThan(0);
    expect(reference?.label).toBe(label);
    expect(ratio).toEqual(label === undefined ? undefined : expect.any(Number));
    expect(limit).toEqual(declared);
    expect(verdict === 'no limit').toBe(declared === undefined);
  }
}, 300_000);

test('--check names the row that misses its limit and fails; without it the miss is only shown', () => {
  const impossible = ['--quick', '--only', 'suspended-call', '--limit', 'suspended-call=1'];
  const checked = bench(...impossible, '--check');
  expect(checked.status).toBe(1);
  expect(checked.stderr).toMatch(
    /^bench: suspended-call misses its limit: \d+ bytes, and it has to be at most 1\.00 B\n$/,
  );
  expect(checked.stdout).toContain('MISSED');
  const shown = bench(...impossible);
  expect([shown.status, shown.stderr]).toEqual([0, '']);
  expect(shown.stdout).toContain('MISSED');
}, 120_000);

test('--check passes where the limit holds', () => {
  const { status, stdout } = bench('--quick', '--only', 'suspended-call', '--limit', 'suspended-call=1e9', '--check');
  expect(status).toBe(0);
  expect(stdout).not.toContain('MISSED');
}, 120_000);

test.each([
  [['--only', 'nothing'], 'no row is named "nothing"'],
  [['--limit', 'trivial-call=fast'], '--limit needs NAME=NUMBER, not "trivial-call=fast"'],
  [['--limit', 'loop-lag=1'], 'the row loop-lag has no limit'],
  [['--fast'], "Unknown option '--fast'"],
])('bad arguments %j are one line and status 2', (args, message) => {
  const { status, stdout, stderr } = bench(...args);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain(`bench: ${message}`);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});
