/** Text in columns, as wide as their widest cell. */

export interface ColumnOptions {
  /** Spaces between columns. */
  readonly gap: number;
  /** Of each column; those of the rows unless told. */
  readonly widths?: readonly number[];
}

/** Lines of aligned cells, without spaces at their ends. */
export function alignColumns(rows: readonly (readonly string[])[], options: ColumnOptions): string[] {
  const { gap, widths = columnWidths(rows) } = options;
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd((widths[i] ?? cell.length) + gap))
      .join('')
      .trimEnd(),
  );
}

/** @param atLeast What they are wide already. */
export function columnWidths(rows: readonly (readonly string[])[], atLeast: readonly number[] = []): number[] {
  const widths = [...atLeast];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  return widths;
}
