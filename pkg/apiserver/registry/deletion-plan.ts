/**
 * What a delete request does to an object (specification 1, 3.1), decided without doing it: with finalizers or a grace
 * period the object is marked and stays until they are over; otherwise it goes at once. Source: 1.24,
 * staging/src/k8s.io/apiserver/pkg/registry/{rest/delete.go,generic/registry/store.go}.
 */

import type { ApiObjectShape, OwnMetadata } from '#api/meta/object.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { successor } from '#apimachinery/int64.js';
import type { DeleteOptions } from '#apiserver/registry/delete-options.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export type DeletionPlan =
  /** The object goes. `answer` is how it is shown to the client where that is not as it was. */
  | { readonly action: 'remove'; readonly answer?: ApiObjectShape }
  /** The object is stored like this and stays. */
  | { readonly action: 'mark'; readonly object: ApiObjectShape }
  /** It is on its way already; nothing to do. */
  | { readonly action: 'pending' };

export interface DeletionInput {
  readonly resource: ServedResource;
  /** Shared; not modified. */
  readonly object: ApiObjectShape;
  readonly options: DeleteOptions;
  readonly dialect: Dialect;
  readonly now: number;
  /** Seconds until the object is really removed; undefined where the kind knows no grace period. */
  readonly graceSeconds: number | bigint | undefined;
}

/** No time is later than what four digits of a year can tell. */
const endOfTime = Date.UTC(9999, 11, 31, 23, 59, 59);

export function planDeletion(input: DeletionInput): DeletionPlan {
  const { object, dialect, now, graceSeconds } = input;
  const { metadata } = object;
  const marked = metadata.deletionTimestamp;
  if (marked !== undefined && metadata.deletionGracePeriodSeconds !== undefined && graceSeconds !== undefined) {
    return shortened(input, marked, metadata.deletionGracePeriodSeconds);
  }
  const finalizers = withCleanUp(input, wantedFinalizers(input, dialect));
  const held = finalizers.length > 0 || isHeldBySpec(input);
  const grace = graceSeconds ?? 0;
  if (!held && grace === 0) return graceSeconds === undefined ? { action: 'remove' } : removed(object, now);
  const next: OwnMetadata = { ...object, metadata: { ...metadata } };
  setFinalizers(next, finalizers);
  if (marked === undefined) {
    next.metadata.deletionTimestamp = formatTime(Math.min(now + Number(grace) * 1000, endOfTime));
    if (!marksItself(input)) {
      next.metadata.deletionGracePeriodSeconds = grace;
      if ((metadata.generation ?? 0) > 0) next.metadata.generation = successor(metadata.generation ?? 0);
    }
  } else if (sameFinalizers(metadata.finalizers ?? [], finalizers)) {
    // Kinds that mark themselves say only when they are asked again that there is no grace period.
    if (metadata.deletionGracePeriodSeconds !== undefined || isHeldBySpec(input)) return { action: 'pending' };
    next.metadata.deletionGracePeriodSeconds = 0;
  }
  return { action: 'mark', object: next };
}

/** Kinds with a grace period show that it is over when there was none. */
function removed(object: ApiObjectShape, now: number): DeletionPlan {
  const { generation = 0 } = object.metadata;
  const metadata = {
    ...object.metadata,
    deletionTimestamp: formatTime(now),
    deletionGracePeriodSeconds: 0,
    ...(generation > 0 ? { generation: successor(generation) } : {}),
  };
  return { action: 'remove', answer: { ...object, metadata } };
}

/** A deletion under way: its grace period can only be made shorter. */
function shortened(input: DeletionInput, marked: string, graceBefore: number | bigint): DeletionPlan {
  const { object, options } = input;
  const asked = options.gracePeriodSeconds;
  const held = (object.metadata.finalizers ?? []).length > 0 || isHeldBySpec(input);
  if (asked === undefined || asked >= graceBefore) {
    return !held && graceBefore === 0 ? { action: 'remove' } : { action: 'pending' };
  }
  const deletionTimestamp = formatTime(parseTime(marked) + (Number(asked) - Number(graceBefore)) * 1000);
  const metadata = { ...object.metadata, deletionTimestamp, deletionGracePeriodSeconds: asked };
  if (!held && asked === 0) return { action: 'remove', answer: { ...object, metadata } };
  return { action: 'mark', object: { ...object, metadata } };
}

/** The object's finalizers with those that the garbage collector acts on set as the options say. */
function wantedFinalizers({ object, options, resource }: DeletionInput, dialect: Dialect): string[] {
  const { orphan, foreground } = dialect.finalizers;
  const present = object.metadata.finalizers ?? [];
  const others = present.filter((finalizer) => finalizer !== orphan && finalizer !== foreground);
  if (resource.strategy.withoutDependents === true) return others;
  // 1.24's store of namespaces takes the oldest way to say that dependents are not orphaned for one to wait for them.
  if (resource.strategy.heldBySpec !== undefined && options.orphanDependents === false) return [...others, foreground];
  const policy = options.propagationPolicy ?? policyOf(options.orphanDependents);
  if (policy === 'Orphan') return [...others, orphan];
  if (policy === 'Foreground') return [...others, foreground];
  if (policy === 'Background') return others;
  if (present.includes(orphan) || present.includes(foreground)) return [...present];
  return resource.strategy.defaultPropagation === 'Orphan' ? [...others, orphan] : others;
}

/** Only the first request adds it: later it is gone because all is clean. */
function withCleanUp({ resource, object, dialect }: DeletionInput, finalizers: readonly string[]): readonly string[] {
  const cleanUp = resource.strategy.cleanUp?.(dialect);
  if (cleanUp === undefined || object.metadata.deletionTimestamp !== undefined || finalizers.includes(cleanUp)) {
    return finalizers;
  }
  return [...finalizers, cleanUp];
}

function policyOf(orphanDependents: boolean | undefined): 'Orphan' | 'Background' | undefined {
  if (orphanDependents === undefined) return undefined;
  return orphanDependents ? 'Orphan' : 'Background';
}

function isHeldBySpec({ resource, object }: Pick<DeletionInput, 'resource' | 'object'>): boolean {
  return resource.strategy.heldBySpec?.(object) === true;
}

/** Namespaces and definitions get the time of their deletion and no more: 1.24's stores of these two mark them on their own. */
function marksItself({ resource: { strategy } }: DeletionInput): boolean {
  return strategy.heldBySpec !== undefined || strategy.cleanUp !== undefined;
}

function setFinalizers(object: OwnMetadata, finalizers: readonly string[]): void {
  if (finalizers.length > 0) object.metadata.finalizers = [...finalizers];
  else delete object.metadata.finalizers;
}

function sameFinalizers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

/** True when an update takes away the last thing that kept a deleted object. */
export function removesOnUpdate(resource: ServedResource, object: ApiObjectShape, old: ApiObjectShape): boolean {
  if (old.metadata.deletionTimestamp === undefined) return false;
  if ((object.metadata.finalizers ?? []).length > 0 || isHeldBySpec({ resource, object })) return false;
  return (old.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}
