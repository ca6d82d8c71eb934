/** What a write of a kind takes besides the write. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { Draft } from '#apimachinery/draft.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

/** A resource in whatever version; the group as declarations have it. */
export type GroupResource = Pick<ResourceDeclaration, 'group' | 'resource'>;

/** Those that look at a resource: that name it, or name none. */
export function concernedWith<T extends { readonly resources?: readonly GroupResource[] }>(
  all: readonly T[],
  { group, resource }: GroupResource,
): readonly T[] {
  return all.filter(
    ({ resources }) => resources?.some((one) => one.group === group && one.resource === resource) !== false,
  );
}

/** Takes back what a hook did, because the write did not happen. */
export type Undo = () => Promise<void>;

/** What belongs to a write of a kind besides the write: claiming addresses and ports for Services, for instance. */
export interface WriteHook {
  /** The resources whose writes it belongs to. Absent: all. */
  readonly resources?: readonly GroupResource[];
  /** Before validation and storage; may complete the object. With `dryRun` nothing may stay claimed. */
  beforeCreate?(object: Draft<ApiObjectShape>, options: { readonly dryRun: boolean }): Promise<Undo | undefined>;
  beforeUpdate?(
    object: Draft<ApiObjectShape>,
    old: ApiObjectShape,
    options: { readonly dryRun: boolean },
  ): Promise<Undo | undefined>;
  /** After the update is stored: time to give back what only the old object held. */
  afterUpdate?(object: ApiObjectShape, old: ApiObjectShape): Promise<void>;
  /** After the object is gone for good. */
  afterDelete?(object: ApiObjectShape): Promise<void>;
}
