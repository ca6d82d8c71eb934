/** Tables from servers, or built from the objects of servers without tables, such as some extension servers. Pure. */
import { age } from '#api/table/age.js';
import type { ApiObject } from '#client/client.js';

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly priority?: number;
}

/** The printed fields of metav1.Table. */
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

/** The table itself, or a table of names and ages of the object or the list's items. */
export function asTable(answer: Table | Shown, nowMs: number): Table {
  if ('columnDefinitions' in answer || 'rows' in answer) return answer;
  const objects = answer.items ?? [answer as Shown];
  const rows = objects.map((object) => ({
    cells: [object.metadata?.name ?? '', age(object.metadata?.creationTimestamp, nowMs)],
    object: object as never,
  }));
  return { columnDefinitions: columns, rows, metadata: answer.metadata } as Table;
}
