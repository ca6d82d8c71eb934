/** Aligned columns as kubectl's tab writer prints them: at least six wide, with three spaces between. Pure. */

const minWidth = 3;
const gap = 3;

/** Lines that end with line breaks. An empty last cell leaves the spaces in front of it. */
export function alignCells(rows: readonly (readonly string[])[], widths: readonly number[] = cellWidths(rows)): string {
  return rows
    .map((row) => {
      const cells = row.map((cell, i) => (i === row.length - 1 ? cell : pad(cell, (widths[i] ?? 0) + gap)));
      return `${cells.join('')}\n`;
    })
    .join('');
}

/** @param atLeast Widths of former rows. */
export function cellWidths(rows: readonly (readonly string[])[], atLeast: readonly number[] = []): number[] {
  const widths = [...atLeast];
  for (const row of rows) {
    // The last cell ends no column.
    for (const [i, cell] of row.slice(0, -1).entries()) {
      widths[i] = Math.max(widths[i] ?? minWidth, width(cell));
    }
  }
  return widths;
}

/** Code points, as the tab writer counts. */
const width = (cell: string): number => [...cell].length;

function pad(cell: string, columns: number): string {
  return cell + ' '.repeat(Math.max(0, columns - width(cell)));
}
