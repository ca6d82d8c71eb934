/** Aligned text columns. */

export interface ColumnOptions {
  /** Spaces between columns. */
  readonly gap: number;
  /** Column widths; the default is the widest cell of each column. */
  readonly widths?: readonly number[];
}

/** Lines of aligned cells without trailing spaces. */
export function alignColumns(rows: readonly (readonly string[])[], options: ColumnOptions): string[] {
  const { gap, widths = columnWidths(rows) } = options;
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd((widths[i] ?? cell.length) + gap))
      .join('')
      .trimEnd(),
  );
}

/** @param atLeast Minimum widths. */
export function columnWidths(rows: readonly (readonly string[])[], atLeast: readonly number[] = []): number[] {
  const widths = [...atLeast];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  return widths;
}
