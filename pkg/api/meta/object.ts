/** Shapes that hold for every object of the API. */
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';

export interface ApiObjectShape {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** One table row's cells, in the order of the resource's columns; null: there is nothing to show. */
export type TableRowCells = (string | number | bigint | boolean | null)[];
