/** Bookkeeping of who manages which fields, for writes other than server-side apply. */
import { addedFields } from '#apimachinery/apply/added-fields.js';
import { compare } from '#apimachinery/apply/compare.js';
import {
  difference,
  emptySet,
  type FieldSet,
  isEmptySet,
  recursiveDifference,
  setOfFields,
  sorted,
  union,
} from '#apimachinery/apply/field-set.js';
import {
  isReset,
  joinOldUpdaters,
  type ManagedFieldsEntry,
  type Manager,
  readManagers,
  sameManager,
  withManager,
  withoutFields,
  writeManagers,
} from '#apimachinery/apply/managers.js';
import { asObject, type JsonObject } from '#apimachinery/apply/structure.js';
import { formatTime } from '#apimachinery/clock.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** What is never managed: it names the object or belongs to the server. */
export const neverManaged = setOfFields([
  'apiVersion',
  'kind',
  'metadata',
  'metadata.name',
  'metadata.namespace',
  'metadata.creationTimestamp',
  'metadata.selfLink',
  'metadata.uid',
  'metadata.clusterName',
  'metadata.generation',
  'metadata.managedFields',
  'metadata.resourceVersion',
]);

export interface WriteInfo {
  readonly type: TypeInfo;
  /** `apps/v1`: the version that the request spoke. */
  readonly apiVersion: string;
  readonly manager: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /**
   * Fields that this endpoint resets (`['status']`), which writing through it does not make anybody's. Default: status
   * for the object itself, spec for its status.
   */
  readonly ignored?: readonly string[];
}

const statusField = setOfFields(['status']);
const specField = setOfFields(['spec']);

/** What writing through the endpoint does not make anybody's. */
export function ignoredFields(info: WriteInfo): FieldSet {
  if (info.ignored !== undefined) return setOfFields(info.ignored);
  if (info.subresource === 'status') return specField;
  return info.subresource === '' ? statusField : emptySet;
}

/** The set without what is never managed. */
export function manageable(set: FieldSet, info: WriteInfo): FieldSet {
  return difference(recursiveDifference(set, ignoredFields(info)), neverManaged);
}

export function entriesOf(object: JsonObject | undefined): ManagedFieldsEntry[] | undefined {
  const entries = asObject(object?.metadata).managedFields;
  return Array.isArray(entries) ? (entries as ManagedFieldsEntry[]) : undefined;
}

/** The object without its managedFields. */
export function withoutEntries(object: JsonObject): JsonObject {
  const metadata = asObject(object.metadata);
  if (metadata.managedFields === undefined) return object;
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}

/**
 * The managers that a write starts from: those that the new object names (clients may edit them), or else those of the
 * live one, so that clients that know nothing of them do not erase them.
 */
function startingManagers(live: JsonObject | undefined, updated: JsonObject, info: WriteInfo): Manager[] {
  const given = entriesOf(updated);
  if (info.subresource === '') {
    if (isReset(given)) return [];
    const managers = readManagers(given);
    if (managers !== undefined && managers.length > 0) return managers;
  }
  return readManagers(entriesOf(live)) ?? [];
}

export interface UpdateRequest extends WriteInfo {
  /** Undefined when the object is being created. */
  readonly live: JsonObject | undefined;
  /** As it is about to be stored. */
  readonly updated: JsonObject;
}

interface Changes {
  /** In order. */
  readonly touched: FieldSet;
  readonly removed: FieldSet;
}

/** Undefined when the write changed nothing. */
function changesOf({ type, live, updated }: UpdateRequest): Changes | undefined {
  const after = withoutEntries(updated);
  if (live === undefined) {
    const touched = addedFields(type, after);
    return isEmptySet(touched) ? undefined : { touched, removed: emptySet };
  }
  const { isSame, touched, removed } = compare(type, withoutEntries(live), after);
  return isSame ? undefined : { touched: sorted(touched), removed };
}

/**
 * The managedFields of an object that is created, updated or patched: whoever changes a field manages it from now on,
 * alone. Neither object is changed. Never throws: what is not well-formed counts as absent.
 */
export function updateManagedFields(request: UpdateRequest): ManagedFieldsEntry[] {
  const managers = startingManagers(request.live, request.updated, request);
  const changes = changesOf(request);
  if (changes === undefined) return writeManagers(managers);
  const touched = manageable(changes.touched, request);
  const self = {
    name: request.manager,
    operation: 'Update',
    apiVersion: request.apiVersion,
    subresource: request.subresource,
  } as const;
  let result = withoutFields(withoutFields(managers, changes.removed), touched, self);
  if (!isEmptySet(touched)) {
    const previous = result.find((manager) => sameManager(manager, self));
    const fields = union(previous?.fields ?? emptySet, touched);
    const inOrder = previous?.inOrder !== false;
    result = withManager(result, { ...self, fields, inOrder, time: formatTime(request.now) });
  }
  return writeManagers(joinOldUpdaters(result));
}
