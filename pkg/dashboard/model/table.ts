/** The server's own tables: columns, and rows with the little of each object's metadata that pages need. */

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0: shown by default. */
  readonly priority: number;
}

export type Cell = string | number | boolean | null;

export interface Owner {
  readonly kind: string;
  readonly apiVersion: string;
  readonly name: string;
  readonly uid: string;
  readonly controller: boolean;
}

export interface Row {
  /** `namespace/name`; `/name` outside of namespaces. */
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** NaN if unknown. */
  readonly createdMs: number;
  readonly isDeleted: boolean;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly owners: readonly Owner[] | undefined;
  readonly cells: readonly Cell[];
  /** When the row arrived; durations in its cells are as of then. */
  readonly atMs: number;
}

/** Parts of metadata that a row keeps; managed fields and annotations are dropped, because they take most of the memory. */
export interface RowMetadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly {
    readonly kind: string;
    readonly apiVersion: string;
    readonly name: string;
    readonly uid: string;
    readonly controller?: boolean;
  }[];
}

export function rowOf(metadata: RowMetadata, cells: readonly Cell[], atMs: number): Row {
  const { name = '', namespace = '', uid = '', creationTimestamp, labels, ownerReferences } = metadata;
  return {
    key: `${namespace}/${name}`,
    ...{ uid, namespace, name, labels, cells, atMs },
    createdMs: Date.parse(creationTimestamp ?? ''),
    isDeleted: metadata.deletionTimestamp !== undefined,
    owners: ownerReferences?.map(({ controller = false, kind, apiVersion, name: of, uid: id }) => ({
      ...{ kind, apiVersion, controller },
      name: of,
      uid: id,
    })),
  };
}

/** A column's place by name, regardless of capitals; -1 without it. */
export function columnIndex(columns: readonly Column[], name: string): number {
  const lower = name.toLowerCase();
  return columns.findIndex((column) => column.name.toLowerCase() === lower);
}

/** Reads cells by the column's name. */
export type CellReader = (row: Row, name: string) => string;

/** Empty texts for columns that the table does not have. */
export function cellReader(columns: readonly Column[]): CellReader {
  const places = new Map(columns.map(({ name }, index) => [name, index]));
  return ({ cells }, name) => {
    const cell = cells[places.get(name) ?? -1];
    return cell === null || cell === undefined ? '' : String(cell);
  };
}

/** Ages are shown as they are now, not as they were when the server sent the row. */
export function isAge({ name }: Column): boolean {
  return name === 'Age' || name === 'Created At';
}
