// What a row of the benchmark is, and how its figures are judged against its limit.

/** Of durations and sizes less is better, of rates more. */
export type Unit = 'us' | 'ms' | 'bytes' | 'calls/s' | 'runs/s';

/** `of: 'ratio'` limits median(subject) / median(reference), `of: 'subject'` the subject's median itself. */
export interface Limit {
  readonly of: 'ratio' | 'subject';
  readonly bound: 'at most' | 'at least';
  readonly value: number;
}

export interface RunOptions {
  /** How often each side is measured; the sides take turns. */
  readonly rounds: number;
  /** Turns before those, which do not count. */
  readonly warmUps: number;
  /** A smoke run: less work a round, figures that mean nothing. */
  readonly quick: boolean;
}

/** Figures in the row's unit. */
export interface Outcome {
  readonly subject: readonly number[];
  readonly reference?: readonly number[];
  /** More references, for information; by label. */
  readonly others?: Readonly<Record<string, readonly number[]>>;
}

export interface Row {
  /** Names it for --only and --limit. */
  readonly name: string;
  /** One sentence. */
  readonly measures: string;
  readonly subject: string;
  readonly reference?: string;
  readonly unit: Unit;
  /** Absent: for information. */
  readonly limit?: Limit;
  run(options: RunOptions): Promise<Outcome>;
}

export interface Figure {
  readonly label: string;
  readonly p50: number;
  /** Nine of ten figures are no worse. */
  readonly p90: number;
  readonly samples: number;
}

export interface Report {
  readonly name: string;
  readonly measures: string;
  readonly unit: Unit;
  readonly subject: Figure;
  readonly reference?: Figure;
  readonly others: readonly Figure[];
  /** median(subject) / median(reference) */
  readonly ratio?: number;
  readonly limit?: Limit;
  readonly verdict: 'holds' | 'missed' | 'no limit';
}

export function report(row: Row, outcome: Outcome): Report {
  const { name, measures, unit, limit } = row;
  const figure = (label: string, samples: readonly number[]) => toFigure(label, samples, unit);
  const subject = figure(row.subject, outcome.subject);
  const reference = outcome.reference && figure(row.reference ?? 'reference', outcome.reference);
  const ratio = reference && subject.p50 / reference.p50;
  return {
    name,
    measures,
    unit,
    subject,
    ...(reference && { reference }),
    others: Object.entries(outcome.others ?? {}).map(([label, samples]) => figure(label, samples)),
    ...(ratio !== undefined && { ratio }),
    ...(limit && { limit }),
    verdict: judge(limit, limit?.of === 'subject' ? subject.p50 : ratio),
  };
}

function judge(limit: Limit | undefined, value: number | undefined): Report['verdict'] {
  if (limit === undefined) return 'no limit';
  if (value === undefined) throw new Error('a limit of a ratio needs a reference');
  const holds = limit.bound === 'at most' ? value <= limit.value : value >= limit.value;
  return holds ? 'holds' : 'missed';
}

function toFigure(label: string, samples: readonly number[], unit: Unit): Figure {
  if (samples.length === 0 || samples.some((sample) => !Number.isFinite(sample))) {
    throw new Error(`${label}: no figures`);
  }
  const sorted = [...samples].sort((a, b) => a - b);
  const worst = unit.endsWith('/s') ? 0.1 : 0.9;
  return { label, p50: quantile(sorted, 0.5), p90: quantile(sorted, worst), samples: samples.length };
}

/** Of a sorted list that is not empty; between two elements it is interpolated. */
export function quantile(sorted: readonly number[], q: number): number {
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)]!;
  const high = sorted[Math.ceil(at)]!;
  return low + (high - low) * (at - Math.floor(at));
}
