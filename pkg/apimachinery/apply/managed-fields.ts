/** Tracks which manager owns which fields, for writes other than server-side apply. */

import { addedFields, compare } from '#apimachinery/apply/compare.js';
import type { Converting, OtherVersions } from '#apimachinery/apply/conversions.js';
import {
  difference,
  emptySet,
  type FieldSet,
  isEmptySet,
  recursiveDifference,
  setOfFields,
  setsEqual,
  sorted,
  union,
} from '#apimachinery/apply/field-set.js';
import {
  entriesOf,
  isReset,
  joinOldUpdaters,
  type ManagedFieldsEntry,
  type Manager,
  readManagers,
  sameManager,
  timeOf,
  withoutFields,
  writeManagers,
} from '#apimachinery/apply/managers.js';
import { AmbiguousElementError } from '#apimachinery/apply/path-elements.js';
import type { JsonObject } from '#apimachinery/apply/structure.js';
import { type Changes, changesByVersion } from '#apimachinery/apply/versions.js';
import type { Steps } from '#apimachinery/async/steps.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

const managedFields = 'metadata.managedFields';

const neverManagedPaths = [
  'apiVersion',
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.creationTimestamp',
  'metadata.selfLink',
  'metadata.uid',
  'metadata.clusterName',
  'metadata.generation',
  managedFields,
  'metadata.resourceVersion',
];

/** Fields that never have a manager: they identify the object or belong to the server. */
export const neverManaged = setOfFields(['metadata', ...neverManagedPaths]);

export interface WriteInfo {
  readonly type: TypeInfo;
  /** The API version of the request: `apps/v1`. */
  readonly apiVersion: string;
  readonly manager: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Milliseconds since the epoch; absent: an entry keeps its time, and a new entry has none. */
  readonly now?: number;
  /** Absent: the status, or the spec for the status subresource. */
  readonly reset?: Unmanaged | undefined;
  /** Other versions of the kind; absent: all managers count as managers of this version. */
  readonly versions?: OtherVersions;
}

/** Fields that a write through an endpoint does not manage. */
export interface Unmanaged {
  /** Fields that the endpoint resets. */
  readonly reset: FieldSet;
  /** `reset` and `neverManaged`, except `metadata` itself. */
  readonly all: FieldSet;
  /** Fields that comparisons skip: `reset` and the managedFields. */
  readonly uncompared: FieldSet;
}

export function unmanagedBy(reset: readonly string[]): Unmanaged {
  const others = neverManagedPaths.filter((path) => !reset.some((parent) => path.startsWith(`${parent}.`)));
  const entries = reset.includes('metadata') ? [] : [managedFields];
  return {
    reset: setOfFields(reset),
    all: setOfFields([...others, ...reset]),
    uncompared: setOfFields([...entries, ...reset]),
  };
}

const [byObject, byStatus, byOthers] = [unmanagedBy(['status']), unmanagedBy(['spec']), unmanagedBy([])];

export function unmanaged({ subresource, reset }: WriteInfo): Unmanaged {
  if (reset !== undefined) return reset;
  if (subresource === 'status') return byStatus;
  return subresource === '' ? byObject : byOthers;
}

/** The set without unmanaged fields. */
export function manageable(set: FieldSet, info: WriteInfo): FieldSet {
  return difference(recursiveDifference(set, unmanaged(info).reset), neverManaged);
}

/**
 * The managers before a write: those in the new object, which clients may edit, or else those of the live object, so
 * that clients without support for managedFields do not erase them.
 */
function startingManagers(live: JsonObject | undefined, updated: JsonObject, info: WriteInfo): Manager[] {
  const entries = entriesOf(updated);
  if (info.subresource === '') {
    if (isReset(entries)) return [];
    const managers = readManagers(entries);
    if (managers !== undefined && managers.length > 0) return managers;
  }
  return readManagers(entriesOf(live)) ?? [];
}

export interface UpdateRequest extends WriteInfo {
  /** Undefined if the object is being created. */
  readonly live: JsonObject | undefined;
  /** The object of the request, before admission. */
  readonly updated: JsonObject;
}

/** Undefined if the write changed nothing. `touched` is sorted; the writer becomes its manager. */
function* changesOf(request: UpdateRequest): Steps<Changes | undefined> {
  const { type, live, updated } = request;
  if (live === undefined) {
    return { touched: yield* addedFields(type, updated, unmanaged(request).all), removed: emptySet };
  }
  const { isSame, touched, removed } = yield* compare(type, live, updated, unmanaged(request).uncompared);
  if (isSame) return undefined;
  yield;
  const managedChanges = difference(touched, neverManaged);
  yield;
  return { touched: sorted(managedChanges), removed };
}

/**
 * The managedFields of an object that is created, updated or patched: a writer that changes a field becomes its only
 * manager. Objects are not modified. Never throws: malformed entries count as absent, and an object with ambiguous list
 * elements has no managers. Asks questions only for kinds that a webhook converts.
 */
export function* updateManagedFields(request: UpdateRequest): Converting<ManagedFieldsEntry[]> {
  try {
    const changes = yield* changesOf(request);
    yield;
    return yield* withChanges(request, changes);
  } catch (error) {
    if (error instanceof AmbiguousElementError) return [];
    throw error;
  }
}

/** The entry of the writer before the write, and its remaining fields. */
interface Writer {
  readonly before: Manager;
  readonly left: Manager;
}

/** Adds the other managers with their remaining fields to `result` and returns the writer's own entry. */
function* keepOthers(
  managers: readonly Manager[],
  request: UpdateRequest,
  changes: Changes,
  result: Manager[],
): Converting<Writer | undefined> {
  const { manager: name, apiVersion, subresource } = request;
  const self = { name, operation: 'Update', apiVersion, subresource } as const;
  const { uncompared } = unmanaged(request);
  const changesFor = yield* changesByVersion({ ...request, versions: request.versions, changes, uncompared }, managers);
  let writer: Writer | undefined;
  for (const manager of managers) {
    const theirs = changesFor(manager);
    if (theirs === undefined) continue;
    const left = withoutFields(manager, theirs.removed);
    yield;
    if (!sameManager(left, self)) result.push(withoutFields(left, theirs.touched));
    else if (isEmptySet(changes.touched)) result.push(left);
    else writer ??= { before: manager, left };
    yield;
  }
  return writer;
}

/** The manager for an unmanaged object at its first apply: `before-first-apply` owns all fields. */
export function* managerBeforeApply(request: WriteInfo, live: JsonObject): Steps<Manager[]> {
  const { apiVersion, subresource, now } = request;
  const fields = yield* addedFields(request.type, live, unmanaged(request).all);
  if (isEmptySet(fields)) return [];
  const name = 'before-first-apply';
  const time = timeOf(now);
  return [{ name, operation: 'Update', apiVersion, subresource, time, fields, inOrder: true, entry: undefined }];
}

function* withChanges(request: UpdateRequest, changes: Changes | undefined): Converting<ManagedFieldsEntry[]> {
  const managers = startingManagers(request.live, request.updated, request);
  // Like 1.24, an object without managers stays unmanaged until it is applied.
  if (managers.length === 0 && request.live !== undefined) return [];
  if (changes === undefined) return writeManagers(managers);
  const { touched } = changes;
  const { manager: name, apiVersion, subresource, now } = request;
  const operation = 'Update';
  const result: Manager[] = [];
  const writer = managers.length === 0 ? undefined : yield* keepOthers(managers, request, changes, result);
  if (!isEmptySet(touched)) {
    const fields = union(writer?.left.fields ?? emptySet, touched);
    // The time changes with the set of managed fields, not with their values.
    if (writer !== undefined && setsEqual(fields, writer.before.fields)) result.push(writer.before);
    else {
      const [time, inOrder] = [timeOf(now) ?? writer?.before.time, writer?.left.inOrder !== false];
      // Written out: a spread costs as much as the rest of this function.
      result.push({ name, operation, apiVersion, subresource, time, fields, inOrder, entry: undefined });
    }
  }
  return writeManagers(joinOldUpdaters(result));
}
