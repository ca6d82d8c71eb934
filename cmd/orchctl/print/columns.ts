import { alignColumns as align, columnWidths } from '#apimachinery/columns.js';

/** As clients of clusters print columns. */
const gap = 3;

export function alignColumns(rows: readonly (readonly string[])[], widths = columnWidths(rows)): string[] {
  return align(rows, { gap, widths });
}
