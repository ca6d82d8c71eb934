import { alignColumns } from '#apimachinery/columns.js';

/** Lines whose columns begin below each other. */
export function formatColumns(rows: readonly (readonly string[])[]): string {
  return alignColumns(rows, { gap: 2 })
    .map((line) => `${line}\n`)
    .join('');
}
