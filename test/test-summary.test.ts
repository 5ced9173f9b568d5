// The closing lines of scripts/test: every failure is named, nothing that failed counts as passed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../lib/core/package-root.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'panto-summary-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Suite {
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { fullName: string; status: string }[];
}

function summarize(lintStatus: number, jestStatus: number, suites?: readonly Suite[]) {
  writeFileSync(join(folder, 'lint.status'), `${lintStatus}\n`);
  writeFileSync(join(folder, 'jest.status'), `${jestStatus}\n`);
  if (suites) {
    const count = (status: string) =>
      suites.flatMap((s) => s.assertionResults).filter((t) => t.status === status).length;
    const totals = { numPassedTests: count('passed'), numPendingTests: count('pending'), numTodoTests: count('todo') };
    writeFileSync(join(folder, 'jest.json'), JSON.stringify({ ...totals, testResults: suites }));
  }
  const script = join(packageRoot, 'scripts/testing/summary.mjs');
  const { status, stdout } = spawnSync(process.execPath, [script, folder], { cwd: packageRoot, encoding: 'utf8' });
  return { status, lines: stdout.trimEnd().split('\n') };
}

const suite = (file: string, tests: Record<string, string>, status = 'passed'): Suite => ({
  name: join(packageRoot, file),
  status,
  assertionResults: Object.entries(tests).map(([fullName, state]) => ({ fullName, status: state })),
});

test('adds up what passed and was skipped', () => {
  const suites = [
    suite('a.test.js', { one: 'passed', two: 'pending' }),
    suite('b.test.js', { three: 'passed', four: 'todo' }),
  ];
  expect(summarize(0, 0, suites)).toEqual({ status: 0, lines: ['3 passed, 0 failed, 2 skipped'] });
});

test('names what failed: tests, files that did not run, and the linters', () => {
  const suites = [
    suite('out/a.test.js', { one: 'passed', 'group two': 'failed' }, 'failed'),
    suite('out/b.test.js', {}, 'failed'),
  ];
  expect(summarize(1, 1, suites)).toEqual({
    status: 1,
    lines: [
      'failed: scripts/lint',
      'failed: out/a.test.js: group two',
      'failed: out/b.test.js: the file itself',
      '1 passed, 3 failed, 0 skipped',
    ],
  });
});

test('a runner that died without a report is a failure, and so is one that only says that it failed', () => {
  expect(summarize(0, 137)).toEqual({
    status: 1,
    lines: ['failed: jest ended with status 137 and no report', '1 passed, 1 failed, 0 skipped'],
  });
  expect(summarize(0, 1, [suite('a.test.js', { one: 'passed' })])).toEqual({
    status: 1,
    lines: ['failed: jest ended with status 1', '2 passed, 1 failed, 0 skipped'],
  });
});
