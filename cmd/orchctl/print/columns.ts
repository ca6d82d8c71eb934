import { alignColumns as align, columnWidths } from '#apimachinery/columns.js';

/** Gap between columns, as in kubectl. */
const gap = 3;

export function alignColumns(rows: readonly (readonly string[])[], widths = columnWidths(rows)): string[] {
  return align(rows, { gap, widths });
}
