/** Side effects of writes of a kind, and the selection of the parts of the server that concern a resource. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { Draft } from '#apimachinery/draft.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

/** A resource without its version; the group as in declarations. */
export type GroupResource = Pick<ResourceDeclaration, 'group' | 'resource'>;

interface Concerned {
  /** The resources that the item concerns; absent: all. */
  readonly resources?: readonly GroupResource[];
}

/** The items of a list that concern a resource: those that name it or name none. Computed once per list and resource. */
export const concernedWith = oncePer((all: readonly Concerned[]) =>
  oncePer(({ group, resource }: ResourceDeclaration) =>
    all.filter(({ resources }) => resources?.some((one) => one.group === group && one.resource === resource) !== false),
  ),
) as <T extends Concerned>(all: readonly T[]) => (resource: ResourceDeclaration) => readonly T[];

/** Undoes the effects of a hook whose write did not happen. */
export type Undo = () => Promise<void>;

/** A side effect of writes of a kind, such as claiming addresses and ports for Services. */
export interface WriteHook extends Concerned {
  /** Runs before validation and storage; may complete the object. With `dryRun` nothing may stay claimed afterwards. */
  beforeCreate?(object: Draft<ApiObjectShape>, options: { readonly dryRun: boolean }): Promise<Undo | undefined>;
  beforeUpdate?(
    object: Draft<ApiObjectShape>,
    old: ApiObjectShape,
    options: { readonly dryRun: boolean },
  ): Promise<Undo | undefined>;
  /** Runs after the update is stored: releases what only the old object held. */
  afterUpdate?(object: ApiObjectShape, old: ApiObjectShape): Promise<void>;
  /** Runs after the object is gone for good. */
  afterDelete?(object: ApiObjectShape): Promise<void>;
}
