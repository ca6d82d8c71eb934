/** Prints the server's Tables. */
import { alignColumns as align, columnWidths } from '#apimachinery/columns.js';
import type { ColumnDefinition, Table } from '#cmd/orchctl/api/table.js';
import type { Output } from '#cmd/orchctl/terminal/terminal.js';

export interface TableOptions {
  readonly wide: boolean;
  readonly namespaces: boolean;
  readonly header: boolean;
  readonly labels: boolean;
  /** Prefix of names: `pod/`. */
  readonly namePrefix?: string;
}

/** Width without the gap. */
const minWidth = 3;

export class TablePrinter {
  readonly #out: Output;
  readonly #options: TableOptions;
  #widths: number[] = [];
  /** Columns of the first table; later tables of a watch omit them. */
  #columns: readonly ColumnDefinition[] = [];
  #headerDone = false;

  constructor(out: Output, options: TableOptions) {
    this.#out = out;
    this.#options = options;
  }

  /** Prints the rows; several tables of one watch share one header. */
  print(table: Table): void {
    const { wide, namespaces, header, labels, namePrefix } = this.#options;
    if (table.columnDefinitions !== undefined && table.columnDefinitions !== null)
      this.#columns = table.columnDefinitions;
    const shown = this.#columns
      .map((column, index) => ({ column, index }))
      .filter(({ column }) => wide || (column.priority ?? 0) === 0);
    const nameColumn = this.#columns.find(({ format, type }) => format === 'name' && type === 'string');
    const lines: string[][] = [];
    if (header && !this.#headerDone) {
      const names = shown.map(({ column }) => column.name.toUpperCase());
      lines.push([...(namespaces ? ['NAMESPACE'] : []), ...names, ...(labels ? ['LABELS'] : [])]);
      this.#headerDone = true;
    }
    for (const row of table.rows ?? []) {
      const cells = shown.map(({ column, index }) => {
        const text = cellText(row.cells[index]);
        return namePrefix !== undefined && column === nameColumn ? `${namePrefix}${text}` : text;
      });
      const metadata = row.object?.metadata;
      const labelText = Object.entries(metadata?.labels ?? {}).map(([key, value]) => `${key}=${value}`);
      lines.push([
        ...(namespaces ? [metadata?.namespace ?? ''] : []),
        ...cells,
        ...(labels ? [labelText.length === 0 ? '<none>' : labelText.join(',')] : []),
      ]);
    }
    this.#widths = columnWidths(lines, this.#widths).map((width) => Math.max(width, minWidth));
    for (const line of alignColumns(lines, this.#widths)) this.#out.write(`${line}\n`);
  }
}

function cellText(cell: string | number | boolean | null | undefined): string {
  if (cell === null || cell === undefined) return '<none>';
  // A line break in a cell would break the table.
  return String(cell).replace(/[\r\n\f]+/g, ' ');
}

/** Gap between columns, as in kubectl. */
const gap = 3;

export function alignColumns(rows: readonly (readonly string[])[], widths = columnWidths(rows)): string[] {
  return align(rows, { gap, widths });
}
