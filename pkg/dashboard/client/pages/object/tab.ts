import type { ApiObject } from '#dashboard/model/api-object.js';
import type { Kind } from '#dashboard/model/catalog.js';

/** What a view of one object gets. */
export interface TabProps {
  readonly kind: Kind;
  readonly object: ApiObject;
}
