/** The rows of a collection, from the server's tables; a server without tables gives rows of names and ages. */
import type { Holder } from '#dashboard/live/source.js';
import { type Cell, type Column, type Row, type RowMetadata, rowOf } from '#dashboard/model/table.js';

interface TableDocument {
  readonly kind?: string;
  readonly columnDefinitions?: readonly Column[] | null;
  readonly rows?: readonly TableRow[] | null;
}

interface TableRow {
  readonly cells: readonly unknown[];
  readonly object?: { readonly metadata?: RowMetadata } | null;
}

interface PlainList {
  readonly items?: readonly { readonly metadata?: RowMetadata }[] | null;
}

export interface RowObserver {
  /** All rows may have changed: columns, or a list that ended. */
  reset(): void;
  changed(before: Row | undefined, after: Row | undefined): void;
}

const plainColumns: readonly Column[] = [
  { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 },
  { name: 'Age', type: 'date', format: '', description: '', priority: 0 },
];

export class TableHolder implements Holder {
  readonly accept: string;
  columns: readonly Column[] = [];
  readonly rows = new Map<string, Row>();
  readonly observers = new Set<RowObserver>();
  /** Keys of the list that is being read; undefined between lists. */
  #listed: Set<string> | undefined;
  readonly #now: () => number;

  constructor(metaGroup: string, now: () => number) {
    this.accept = `application/json;as=Table;v=v1;g=${metaGroup}, application/json`;
    this.#now = now;
  }

  begin(): void {
    this.#listed = new Set();
  }

  page(document: unknown): void {
    for (const row of this.#read(document)) {
      this.#listed?.add(row.key);
      this.#set(row);
    }
  }

  end(): void {
    const listed = this.#listed;
    this.#listed = undefined;
    if (listed === undefined) return;
    for (const [key, row] of this.rows) if (!listed.has(key)) this.#delete(row);
  }

  event(type: string, document: unknown): void {
    for (const row of this.#read(document)) {
      if (type === 'DELETED') {
        const held = this.rows.get(row.key);
        if (held !== undefined) this.#delete(held);
      } else this.#set(row);
    }
  }

  #set(row: Row): void {
    const before = this.rows.get(row.key);
    this.rows.set(row.key, row);
    for (const observer of this.observers) observer.changed(before, row);
  }

  #delete(row: Row): void {
    this.rows.delete(row.key);
    for (const observer of this.observers) observer.changed(row, undefined);
  }

  /** Only the first Table of a watch has columns. */
  #read(document: unknown): Row[] {
    const { kind, columnDefinitions, rows } = document as TableDocument;
    const atMs = this.#now();
    if (kind !== 'Table') {
      const { items } = document as PlainList;
      const objects = items ?? [document as { readonly metadata?: RowMetadata }];
      this.#setColumns(plainColumns);
      return objects.map(({ metadata = {} }) =>
        rowOf(metadata, [metadata.name ?? '', metadata.creationTimestamp ?? ''], atMs),
      );
    }
    if (columnDefinitions !== undefined && columnDefinitions !== null) this.#setColumns(columnDefinitions);
    return (rows ?? []).map(({ cells, object }) => rowOf(object?.metadata ?? {}, cells.map(cellOf), atMs));
  }

  #setColumns(columns: readonly Column[]): void {
    const isSame =
      columns.length === this.columns.length && columns.every(({ name }, i) => name === this.columns[i]?.name);
    if (isSame) return;
    this.columns = columns;
    for (const observer of this.observers) observer.reset();
  }
}

function cellOf(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  return typeof value === 'object' ? JSON.stringify(value) : (value as Cell);
}
