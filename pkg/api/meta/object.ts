/** Types of all API objects. */

import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Replaceable } from '#apimachinery/draft.js';

export interface ApiObjectShape {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object with its own metadata, which may get other members; all other parts may be shared. */
export interface OwnMetadata extends ApiObjectShape {
  readonly metadata: Replaceable<ObjectMeta>;
}

/** Conditions of a table row. */
export interface TableRowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Cells of a table row in the order of the columns; null is an empty cell. */
export type TableRowCells = (string | number | bigint | boolean | null)[];
