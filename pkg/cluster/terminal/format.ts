import { alignColumns } from '#apimachinery/columns.js';

/** Rows as lines with aligned columns. */
export function formatColumns(rows: readonly (readonly string[])[]): string {
  return alignColumns(rows, { gap: 2 })
    .map((line) => `${line}\n`)
    .join('');
}

/** `1.5 MiB` */
export function formatBytes(bytes: number): string {
  let left = bytes;
  for (const unit of ['B', 'KiB', 'MiB']) {
    if (left < 1024) return `${unit === 'B' ? left : left.toFixed(1)} ${unit}`;
    left /= 1024;
  }
  return `${left.toFixed(1)} GiB`;
}
