/** Results of external suites: a table, and the names of failures. */

export interface Failure {
  readonly name: string;
  /** One line. */
  readonly reason: string;
}

export interface SuiteResult {
  readonly suite: string;
  readonly passed: number;
  readonly failures: readonly Failure[];
  readonly skipped: number;
  /** Why it did not run, or which part did not. */
  readonly note?: string;
}

const columns = ['suite', 'passed', 'failed', 'skipped'] as const;
const reasonLength = 300;

/** A row for each suite, then a line for each failure. */
export function formatReport(results: readonly SuiteResult[]): string {
  const rows = results.map(({ suite, passed, failures, skipped, note }) => [
    suite,
    ...[passed, failures.length, skipped].map(String),
    ...(note === undefined ? [] : [note]),
  ]);
  const widths = columns.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const failed = results.flatMap(({ suite, failures }) =>
    failures.map(({ name, reason }) => `FAIL ${suite}: ${name}: ${oneLine(reason)}`),
  );
  return [line(columns), ...rows.map(line), ...failed].join('\n');
}

function oneLine(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length > reasonLength ? `${line.slice(0, reasonLength)}…` : line;
}
