/**
 * Decides what a delete request does to an object (specification 1, 3.1); pure. An object with finalizers or a grace period
 * is marked and stays until they are over; other objects are removed at once. Source: 1.24,
 * staging/src/k8s.io/apiserver/pkg/registry/{rest/delete.go,generic/registry/store.go}.
 */

import type { ApiObjectShape, OwnMetadata } from '#api/meta/object.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { successor } from '#apimachinery/int64.js';
import type { DeleteOptions } from '#apiserver/registry/delete-options.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export type DeletionPlan =
  /** Remove the object. `answer` is what the client sees if it differs from the stored object. */
  | { readonly action: 'remove'; readonly answer?: ApiObjectShape }
  /** Store this marked object. */
  | { readonly action: 'mark'; readonly object: ApiObjectShape }
  /** Already being deleted: nothing to do. */
  | { readonly action: 'pending' };

export interface DeletionInput {
  readonly resource: ServedResource;
  /** Shared: do not modify. */
  readonly object: ApiObjectShape;
  readonly options: DeleteOptions;
  readonly dialect: Dialect;
  readonly now: number;
  /** Seconds until the object is removed; undefined if the kind has no grace period. */
  readonly graceSeconds: number | bigint | undefined;
  /** False: no garbage collector would remove its finalizers, so none is set. */
  readonly collectsGarbage: boolean;
}

/** The latest time: years have four digits. */
const endOfTime = Date.UTC(9999, 11, 31, 23, 59, 59);

export function planDeletion(input: DeletionInput): DeletionPlan {
  const { object, dialect, now, graceSeconds } = input;
  const { metadata } = object;
  const marked = metadata.deletionTimestamp;
  if (marked !== undefined && metadata.deletionGracePeriodSeconds !== undefined && graceSeconds !== undefined) {
    return shortened(input, marked, metadata.deletionGracePeriodSeconds);
  }
  const finalizers = withCleanUp(input, requestedFinalizers(input, dialect));
  const isHeld = finalizers.length > 0 || isHeldBySpec(input);
  const grace = graceSeconds ?? 0;
  if (!isHeld && grace === 0) return graceSeconds === undefined ? { action: 'remove' } : removed(object, now);
  const next: OwnMetadata = { ...object, metadata: { ...metadata } };
  setFinalizers(next, finalizers);
  if (marked === undefined) {
    next.metadata.deletionTimestamp = formatTime(Math.min(now + Number(grace) * 1000, endOfTime));
    if (!marksItself(input)) {
      next.metadata.deletionGracePeriodSeconds = grace;
      if ((metadata.generation ?? 0) > 0) next.metadata.generation = successor(metadata.generation ?? 0);
    }
  } else if (sameFinalizers(metadata.finalizers ?? [], finalizers)) {
    // Kinds that mark themselves get their grace period of 0 only with the second request.
    if (metadata.deletionGracePeriodSeconds !== undefined || isHeldBySpec(input)) return { action: 'pending' };
    next.metadata.deletionGracePeriodSeconds = 0;
  }
  return { action: 'mark', object: next };
}

/** The answer for kinds with a grace period of 0 shows the object with a deletion time. */
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

/** A deletion in progress: its grace period can only get shorter. */
function shortened(input: DeletionInput, marked: string, graceBefore: number | bigint): DeletionPlan {
  const { object, options } = input;
  const seconds = options.gracePeriodSeconds;
  const isHeld = (object.metadata.finalizers ?? []).length > 0 || isHeldBySpec(input);
  if (seconds === undefined || seconds >= graceBefore) {
    return !isHeld && graceBefore === 0 ? { action: 'remove' } : { action: 'pending' };
  }
  const deletionTimestamp = formatTime(parseTime(marked) + (Number(seconds) - Number(graceBefore)) * 1000);
  const metadata = { ...object.metadata, deletionTimestamp, deletionGracePeriodSeconds: seconds };
  if (!isHeld && seconds === 0) return { action: 'remove', answer: { ...object, metadata } };
  return { action: 'mark', object: { ...object, metadata } };
}

/** The object's finalizers, with the garbage collector's own set according to the options. */
function requestedFinalizers(input: DeletionInput, dialect: Dialect): string[] {
  const { object, options, resource, collectsGarbage } = input;
  const { orphan, foreground } = dialect.finalizers;
  const present = object.metadata.finalizers ?? [];
  if (!collectsGarbage) return [...present];
  const others = present.filter((finalizer) => finalizer !== orphan && finalizer !== foreground);
  if (resource.strategy.withoutDependents === true) return others;
  // For namespaces, 1.24 treats orphanDependents=false as a request for foreground deletion.
  if (resource.strategy.heldBySpec !== undefined && options.orphanDependents === false) return [...others, foreground];
  const policy = options.propagationPolicy ?? policyOf(options.orphanDependents);
  if (policy === 'Orphan') return [...others, orphan];
  if (policy === 'Foreground') return [...others, foreground];
  if (policy === 'Background') return others;
  if (present.includes(orphan) || present.includes(foreground)) return [...present];
  return resource.strategy.defaultPropagation === 'Orphan' ? [...others, orphan] : others;
}

/** Adds the kind's clean-up finalizer with the first request only: its later absence means that clean-up is done. */
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

/** Namespaces and definitions: 1.24's stores mark these two themselves, with only a deletion time. */
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

/** True when an update removes the last hold on a deleted object. */
export function removesOnUpdate(resource: ServedResource, object: ApiObjectShape, old: ApiObjectShape): boolean {
  if (old.metadata.deletionTimestamp === undefined) return false;
  if ((object.metadata.finalizers ?? []).length > 0 || isHeldBySpec({ resource, object })) return false;
  return (old.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}
