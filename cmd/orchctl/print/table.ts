/** Prints the server's Tables. */
import { alignColumns as align } from '#apimachinery/columns.js';
import type { ColumnDefinition, Table, TableRow } from '#cmd/orchctl/api/table.js';
import { alignCells, cellWidths } from '#cmd/orchctl/print/align.js';
import type { Output } from '#cmd/orchctl/terminal/terminal.js';

export interface TableOptions {
  readonly wide: boolean;
  readonly namespaces: boolean;
  readonly header: boolean;
  readonly labels: boolean;
  /** Labels with a column of their own. */
  readonly labelColumns?: readonly string[];
  /** Prefix of names: `pod/`. */
  readonly namePrefix?: string;
}

export class TablePrinter {
  readonly #out: Output;
  readonly #options: TableOptions;
  #widths: readonly number[] = [];
  /** Columns of the first table; later tables of a watch omit them. */
  #columns: readonly ColumnDefinition[] = [];
  #headerDone = false;

  constructor(out: Output, options: TableOptions) {
    this.#out = out;
    this.#options = options;
  }

  /**
   * Prints the rows; several tables of one watch share one header.
   * @param event What happened to the rows' objects: a column in front of the others.
   */
  print(table: Table, event?: string): void {
    const { header } = this.#options;
    if (table.columnDefinitions !== undefined && table.columnDefinitions !== null)
      this.#columns = table.columnDefinitions;
    const rows = table.rows ?? [];
    const lines: string[][] = [];
    if (header && !this.#headerDone && rows.length > 0) {
      lines.push(this.#header(event !== undefined));
      this.#headerDone = true;
    }
    for (const row of rows) lines.push(this.#row(row, event));
    this.#widths = cellWidths(lines, this.#widths);
    const text = alignCells(lines, this.#widths);
    if (text !== '') this.#out.write(text);
  }

  #header(withEvent: boolean): string[] {
    const { labelColumns = [], labels, namespaces } = this.#options;
    return [
      ...(withEvent ? ['EVENT'] : []),
      ...(namespaces ? ['NAMESPACE'] : []),
      ...this.#columns.filter((column) => this.#shows(column)).map(({ name }) => name.toUpperCase()),
      ...labelColumns.map((label) => (label.split('/').at(-1) ?? '').toUpperCase()),
      ...(labels ? ['LABELS'] : []),
    ];
  }

  #row({ cells, object }: TableRow, event: string | undefined): string[] {
    const { labelColumns = [], labels, namePrefix, namespaces } = this.#options;
    const nameColumn = this.#columns.findIndex(({ format, type }) => format === 'name' && type === 'string');
    const own = object?.metadata?.labels ?? {};
    return [
      ...(event === undefined ? [] : [event.padEnd(8)]),
      ...(namespaces ? [object?.metadata?.namespace ?? ''] : []),
      ...this.#columns.flatMap((column, index) => {
        if (!this.#shows(column)) return [];
        const text = cellText(cells[index]);
        return [namePrefix !== undefined && index === nameColumn ? `${namePrefix}${text}` : text];
      }),
      ...labelColumns.map((label) => own[label] ?? ''),
      ...(labels ? [labelsText(own)] : []),
    ];
  }

  #shows({ priority }: ColumnDefinition): boolean {
    return this.#options.wide || (priority ?? 0) === 0;
  }
}

/** `app=web,tier=front`, sorted; `<none>` without labels. */
function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}

function cellText(cell: string | number | boolean | null | undefined): string {
  if (cell === null || cell === undefined) return '';
  const text = String(cell);
  const end = text.indexOf('\n');
  // A line break in a cell would break the table.
  return (end < 0 ? text : `${text.slice(0, end)}...`).replace(/[\r\f]+/g, ' ');
}

/** Gap between columns, as in kubectl. */
const gap = 3;

export function alignColumns(rows: readonly (readonly string[])[], widths?: readonly number[]): string[] {
  return align(rows, { gap, ...(widths === undefined ? {} : { widths }) });
}
