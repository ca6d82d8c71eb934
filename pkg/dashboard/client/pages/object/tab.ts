import type { Kind } from '#dashboard/model/catalog.js';
import type { ApiObject } from '#dashboard/model/messages.js';

/** What a view of one object gets. */
export interface TabProps {
  readonly kind: Kind;
  readonly object: ApiObject;
}
