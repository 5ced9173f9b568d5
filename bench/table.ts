// The report for people: one line a row as soon as it is measured.
import type { Figure, Limit, Report, Unit } from './row.js';

const nameWidth = 18;
const labelWidth = 48;

export function header(): string {
  return `${'row'.padEnd(nameWidth)} ${'side'.padEnd(labelWidth)} ${'p50'.padStart(12)} ${'p90'.padStart(12)}  verdict`;
}

export function lines({ name, unit, subject, reference, others, ratio, limit, verdict }: Report): string[] {
  const line = (first: string, figure: Figure, last = '') =>
    [
      first.padEnd(nameWidth),
      figure.label.padEnd(labelWidth),
      format(figure.p50, unit).padStart(12),
      format(figure.p90, unit).padStart(12),
      ` ${last}`,
    ]
      .join(' ')
      .trimEnd();
  const judged = [
    ratio === undefined ? '' : `${ratio.toFixed(ratio < 0.1 ? 3 : 2)}x`,
    limit === undefined ? '' : `(${describeLimit(limit, unit)})`,
    verdict === 'missed' ? 'MISSED' : '',
  ];
  return [
    line(name, subject, judged.filter((word) => word !== '').join(' ')),
    ...(reference === undefined ? [] : [line('', reference)]),
    ...others.map((figure) => line('', figure)),
  ];
}

export function describeLimit({ of, bound, value }: Limit, unit: Unit): string {
  return `${bound} ${of === 'ratio' ? `${value}x` : format(value, unit)}`;
}

function format(value: number, unit: Unit): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit === 'bytes' ? 'B' : unit}`;
}
