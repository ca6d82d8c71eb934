/** Text in columns, as wide as their widest cell. */

const gap = 3;

/** Lines of aligned cells; the last column is not padded. */
export function alignColumns(rows: readonly (readonly string[])[], widths = columnWidths(rows)): string[] {
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd((widths[i] ?? cell.length) + gap)))
      .join('')
      .trimEnd(),
  );
}

export function columnWidths(rows: readonly (readonly string[])[], atLeast: readonly number[] = []): number[] {
  const widths = [...atLeast];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return widths;
}
