/** Tables as servers make them, and of what servers give that make none, as some extension servers do. Pure. */
import { age } from '#api/table/age.js';
import type { ApiObject } from '#client/client.js';

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly priority?: number;
}

/** metav1.Table, as far as it is printed. */
export interface Table {
  readonly columnDefinitions?: readonly ColumnDefinition[] | null;
  readonly rows: readonly TableRow[] | null;
  readonly metadata?: { resourceVersion?: string; continue?: string };
}

export interface TableRow {
  readonly cells: readonly (string | number | boolean | null)[];
  readonly object?: { metadata?: ApiObject['metadata'] };
}

interface Shown {
  readonly kind?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly creationTimestamp?: string;
    readonly resourceVersion?: string;
    readonly continue?: string;
  };
  readonly items?: readonly Shown[];
}

const columns = ['Name', 'Age'].map((name) => ({ name, type: 'string' }));

/** The table itself, or one of the names and ages of the object or of the list's items. */
export function asTable(answer: Table | Shown, nowMs: number): Table {
  if ('columnDefinitions' in answer || 'rows' in answer) return answer;
  const objects = answer.items ?? [answer as Shown];
  const rows = objects.map((object) => ({
    cells: [object.metadata?.name ?? '', age(object.metadata?.creationTimestamp, nowMs)],
    object: object as never,
  }));
  return { columnDefinitions: columns, rows, metadata: answer.metadata } as Table;
}
