// npm run bench: measures the rows, prints what came out, and with --check fails on a limit that does not hold.
import { execFile } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { type Limit, type Outcome, type Report, type Row, type RunOptions, report } from './row.js';
import { rows } from './rows/index.js';
import { describeLimit, header, lines } from './table.js';

const usage = `usage: npm run bench -- [--json] [--check] [--quick] [--only NAME]… [--limit NAME=VALUE]…

  --json              one JSON document instead of the table
  --check             status 1 when a row misses its limit, or cannot be measured
  --quick             few rounds of little work: whether the rows run, not how fast
  --only NAME         only this row
  --limit NAME=VALUE  another value for the limit of a row

rows:
${rows.map(({ name, measures }) => `  ${name.padEnd(18)} ${measures}`).join('\n')}
`;

/** At least 20 figures of each side. */
const fullRun: RunOptions = { rounds: 20, warmUps: 2, quick: false };
const quickRun: RunOptions = { rounds: 1, warmUps: 0, quick: true };

/** A row that takes longer hangs. */
const rowLimitMs = 5 * 60_000;

interface Arguments {
  readonly json: boolean;
  readonly check: boolean;
  readonly quick: boolean;
  readonly rows: readonly Row[];
}

class UsageError extends Error {}

/** Resolves with the exit status: 0, 1 where --check or a measurement fails, 2 for bad arguments. */
export async function main(args: readonly string[]): Promise<number> {
  let chosen: Arguments | undefined;
  try {
    chosen = readArguments(args);
  } catch (error) {
    console.error(`bench: ${(error as Error).message} (--help lists what there is)`);
    return 2;
  }
  if (chosen === undefined) {
    console.log(usage);
    return 0;
  }
  return await run(chosen);
}

/** Undefined: help was asked for. */
function readArguments(args: readonly string[]): Arguments | undefined {
  const flag = { type: 'boolean', default: false } as const;
  const list = { type: 'string', multiple: true, default: [] as string[] } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { json: flag, check: flag, quick: flag, help: flag, only: list, limit: list },
  });
  if (values.help) return undefined;
  for (const name of values.only) findRow(name);
  const limits = new Map(values.limit.map(readLimit));
  return {
    json: values.json,
    check: values.check,
    quick: values.quick,
    rows: rows
      .filter(({ name }) => values.only.length === 0 || values.only.includes(name))
      .map((row) => ({ ...row, ...(limits.has(row.name) && { limit: limits.get(row.name)! }) })),
  };
}

function findRow(name: string): Row {
  const row = rows.find((candidate) => candidate.name === name);
  if (row === undefined) throw new UsageError(`no row is named "${name}"`);
  return row;
}

function readLimit(text: string): [string, Limit] {
  const [name, number] = text.split('=');
  const { limit } = findRow(name ?? '');
  if (limit === undefined) throw new UsageError(`the row ${name} has no limit`);
  const value = Number(number || Number.NaN);
  if (!Number.isFinite(value)) throw new UsageError(`--limit needs NAME=NUMBER, not "${text}"`);
  return [name!, { ...limit, value }];
}

async function run({ json, check, quick, rows: chosen }: Arguments): Promise<number> {
  const reports: Report[] = [];
  const errors: { name: string; error: string }[] = [];
  if (!json) console.log(header());
  for (const row of chosen) {
    try {
      const measured = report(row, await measure(row.name, quick ? quickRun : fullRun));
      reports.push(measured);
      if (!json) console.log(lines(measured).join('\n'));
    } catch (error) {
      errors.push({ name: row.name, error: (error as Error).message });
      console.error(`bench: ${row.name}: cannot be measured: ${(error as Error).message}`);
    }
  }
  if (json) console.log(JSON.stringify({ quick, machine: machine(), rows: reports, errors }, null, 2));
  const missed = reports.filter(({ verdict }) => verdict === 'missed');
  if (check) for (const each of missed) console.error(`bench: ${describeMiss(each)}`);
  return errors.length > 0 || (check && missed.length > 0) ? 1 : 0;
}

function describeMiss({ name, ratio, subject, limit, unit }: Report): string {
  const value = limit!.of === 'ratio' ? `${ratio!.toPrecision(3)}x` : `${subject.p50.toPrecision(4)} ${unit}`;
  return `${name} misses its limit: ${value}, and it has to be ${describeLimit(limit!, unit)}`;
}

/** Runs the row in a process of its own. Rejects with one line. */
async function measure(name: string, options: RunOptions): Promise<Outcome> {
  const program = join(import.meta.dirname, 'run-row.js');
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--expose-gc', program, name, JSON.stringify(options)],
      {
        timeout: rowLimitMs,
        maxBuffer: 2 ** 28,
      },
    );
    return JSON.parse(stdout) as Outcome;
  } catch (error) {
    const { killed, stderr, message } = error as Error & { killed?: boolean; stderr?: string };
    if (killed) throw new Error(`it did not end within ${rowLimitMs / 1000} s`);
    throw new Error(/^\w*Error: .*$/m.exec(stderr ?? '')?.[0] ?? message.split('\n', 1)[0]);
  }
}

function machine() {
  return {
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    cpu: cpus()[0]?.model,
    cores: availableParallelism(),
  };
}
