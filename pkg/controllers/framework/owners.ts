/** Owner references: the managing owner of an object, adoption and release. */
import type { ObjectMeta, OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isInvalid, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import type { ApiObject, ResourceClient } from '#client/client.js';

/** The reference to the object's managing owner. */
export function controllerOf(object: { readonly metadata: ObjectMeta }): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/** A reference that makes `owner` the managing owner, and blocks a foreground deletion of it. */
export function controllerReference(dialect: Dialect, type: ResourceDeclaration, owner: ApiObject): OwnerReference {
  return {
    apiVersion: dialect.apiVersion(type.group, type.version),
    kind: type.kind,
    name: owner.metadata.name ?? '',
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

export type Claim = 'owned' | 'adopt' | 'release' | 'ignore';

/** Whether the owner manages the object, should adopt it, or should release it. Pure. */
export function decideClaim(owner: ApiObject, selector: LabelSelector, object: ApiObject): Claim {
  const reference = controllerOf(object);
  const matches = selector.matches(object.metadata.labels);
  const ownerDeleted = owner.metadata.deletionTimestamp !== undefined;
  if (reference !== undefined) {
    if (reference.uid !== owner.metadata.uid) return 'ignore';
    if (matches) return 'owned';
    return ownerDeleted ? 'ignore' : 'release';
  }
  if (!matches || ownerDeleted || object.metadata.deletionTimestamp !== undefined) return 'ignore';
  return object.metadata.namespace === owner.metadata.namespace ? 'adopt' : 'ignore';
}

export interface ClaimRequest<T extends ApiObject> {
  readonly owner: ApiObject;
  readonly selector: LabelSelector;
  /** Candidates from the cache. */
  readonly objects: readonly T[];
  readonly reference: OwnerReference;
  /** Reads the owner from the API server: a deleted owner, which the cache may still show, must adopt nothing. */
  readonly liveOwner: () => Promise<ApiObject>;
  readonly client: ResourceClient<T>;
  /** Finalizers to add on adoption and to remove on release. */
  readonly finalizers?: readonly string[];
  /** Called with the new version of each adopted or released object. */
  readonly wrote: (object: T) => void;
}

/**
 * Adopts and releases objects as necessary, and returns the objects that the owner manages. Objects that no longer exist
 * are omitted; other failures are thrown after all objects were tried.
 */
export async function claimObjects<T extends ApiObject>(request: ClaimRequest<T>): Promise<T[]> {
  const { owner, selector, objects } = request;
  const owned: T[] = [];
  const failures: unknown[] = [];
  let mayAdopt: Promise<void> | undefined;
  for (const object of objects) {
    const claim = decideClaim(owner, selector, object);
    if (claim === 'owned') owned.push(object);
    if (claim !== 'adopt' && claim !== 'release') continue;
    try {
      if (claim === 'adopt') {
        mayAdopt ??= checkLive(request);
        await mayAdopt;
        owned.push(await adopt(request, object));
      } else await release(request, object);
    } catch (error) {
      // The object no longer exists, or (on release) another object has its name.
      if (!isNotFound(error) && !(claim === 'release' && isInvalid(error))) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'claiming failed');
  return owned;
}

async function checkLive<T extends ApiObject>({ owner, liveOwner }: ClaimRequest<T>): Promise<void> {
  const live = await liveOwner();
  const { namespace, name, uid } = owner.metadata;
  if (live.metadata.uid !== uid) {
    throw new Error(`original ${namespace}/${name} is gone: got uid ${live.metadata.uid}, wanted ${uid}`);
  }
  if (live.metadata.deletionTimestamp !== undefined) {
    throw new Error(`${namespace}/${name} has just been deleted at ${live.metadata.deletionTimestamp}`);
  }
}

function adopt<T extends ApiObject>(request: ClaimRequest<T>, object: T): Promise<T> {
  const { reference, finalizers } = request;
  return patchMetadata(request, object, {
    ownerReferences: [reference],
    ...(finalizers === undefined ? {} : { finalizers }),
  });
}

function release<T extends ApiObject>(request: ClaimRequest<T>, object: T): Promise<T> {
  const { owner, finalizers } = request;
  return patchMetadata(request, object, {
    ownerReferences: [{ $patch: 'delete', uid: owner.metadata.uid ?? '' }],
    ...(finalizers === undefined ? {} : { '$deleteFromPrimitiveList/finalizers': finalizers }),
  });
}

async function patchMetadata<T extends ApiObject>(request: ClaimRequest<T>, object: T, changes: object): Promise<T> {
  const { name = '', namespace = '', uid = '' } = object.metadata;
  // The UID makes the patch fail when another object has the name.
  const patch = { metadata: { uid, ...changes } };
  const patched = await request.client.patch(name, patch, { type: 'strategic', namespace });
  request.wrote(patched);
  return patched;
}
