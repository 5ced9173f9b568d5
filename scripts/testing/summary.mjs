// Adds up what the runners of scripts/test reported: names every failure, then prints the totals in one line. Status 1 when anything
// failed, or when nothing ran at all.
//   node scripts/testing/summary.mjs FOLDER    which holds RUNNER.status for each runner, and jest.json
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const folder = process.argv[2];
const statusOf = (runner) => Number(readFileSync(join(folder, `${runner}.status`), 'utf8'));

/** A runner that says no more than whether all is well counts as one test. */
function lintCounts() {
  return statusOf('lint') === 0
    ? { passed: 1, skipped: 0, failures: [] }
    : { passed: 0, skipped: 0, failures: ['scripts/lint'] };
}

function jestCounts() {
  let report;
  try {
    report = JSON.parse(readFileSync(join(folder, 'jest.json'), 'utf8'));
  } catch {
    return { passed: 0, skipped: 0, failures: [`jest ended with status ${statusOf('jest')} and no report`] };
  }
  const failures = report.testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${file}: ${test.fullName}`);
    // A file that could not be run, or failed outside its tests.
    return status === 'failed' && failed.length === 0 ? [`${file}: the file itself`] : failed;
  });
  if (failures.length === 0 && statusOf('jest') !== 0) failures.push(`jest ended with status ${statusOf('jest')}`);
  return { passed: report.numPassedTests, skipped: report.numPendingTests + report.numTodoTests, failures };
}

const runners = [lintCounts(), jestCounts()];
const sum = (count) => runners.reduce((total, runner) => total + count(runner), 0);
const failures = runners.flatMap((runner) => runner.failures);
for (const name of failures) console.log(`failed: ${name}`);
console.log(`${sum((r) => r.passed)} passed, ${failures.length} failed, ${sum((r) => r.skipped)} skipped`);
process.exitCode = failures.length > 0 ? 1 : 0;
