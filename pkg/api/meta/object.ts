/** Shapes that hold for every object of the API. */

import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Replaceable } from '#apimachinery/draft.js';

export interface ApiObjectShape {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object whose metadata are its own, and may get other members; all else of it may be shared. */
export interface OwnMetadata extends ApiObjectShape {
  readonly metadata: Replaceable<ObjectMeta>;
}

/** What a row says of its object besides the cells. */
export interface TableRowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** One table row's cells, in the order of the resource's columns; null: there is nothing to show. */
export type TableRowCells = (string | number | bigint | boolean | null)[];
