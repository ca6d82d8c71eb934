/** Bookkeeping of who manages which fields, for writes other than server-side apply. */

import { addedFields, compare } from '#apimachinery/apply/compare.js';
import type { Converting, OtherVersions } from '#apimachinery/apply/conversions.js';
import { AmbiguousElementError } from '#apimachinery/apply/edges.js';
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

/** What is never managed: it names the object or belongs to the server. */
export const neverManaged = setOfFields(['metadata', ...neverManagedPaths]);

export interface WriteInfo {
  readonly type: TypeInfo;
  /** `apps/v1`: the version that the request spoke. */
  readonly apiVersion: string;
  readonly manager: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Milliseconds since the epoch; absent: an entry keeps its time, and a new one has none. */
  readonly now?: number;
  /** Absent: the status, or the spec where the subresource is the status. */
  readonly reset?: Unmanaged | undefined;
  /** Other versions of the kind; absent: all managers are taken for those of this one. */
  readonly versions?: OtherVersions;
}

/** What writing through an endpoint does not make anybody's. */
export interface Unmanaged {
  /** What the endpoint resets. */
  readonly reset: FieldSet;
  /** That and what is never managed, but for `metadata` itself. */
  readonly all: FieldSet;
  /** What a comparison passes over: the first, and the entries themselves. */
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

/** The set without what is never managed. */
export function manageable(set: FieldSet, info: WriteInfo): FieldSet {
  return difference(recursiveDifference(set, unmanaged(info).reset), neverManaged);
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
  /** As the request makes it, before admission. */
  readonly updated: JsonObject;
}

/** Undefined when the write changed nothing. What is touched is the writer's from now on, and in order. */
function* changesOf(request: UpdateRequest): Steps<Changes | undefined> {
  const { type, live, updated } = request;
  if (live === undefined) {
    return { touched: yield* addedFields(type, updated, unmanaged(request).all), removed: emptySet };
  }
  const { isSame, touched, removed } = yield* compare(type, live, updated, unmanaged(request).uncompared);
  if (isSame) return undefined;
  yield;
  const counting = difference(touched, neverManaged);
  yield;
  return { touched: sorted(counting), removed };
}

/**
 * The managedFields of an object that is created, updated or patched: who changes a field manages it from now on,
 * alone. Neither object is changed. Never throws: entries that are not well-formed count as absent, and an object with
 * elements that cannot be told apart has no managers. Questions come only for kinds that others convert.
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

/** The writer among the managers: as it was, and what is left to it. */
interface Writer {
  readonly before: Manager;
  readonly left: Manager;
}

/** Puts what is left to the managers there are into `result`, but for the writer, which comes back if it gets more. */
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

/** Who manages what of an object that has no managers, for those who apply to it: `before-first-apply`, all of it. */
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
  // 1.24 tracks no managers of an object without any until the object is applied.
  if (managers.length === 0 && request.live !== undefined) return [];
  if (changes === undefined) return writeManagers(managers);
  const { touched } = changes;
  const { manager: name, apiVersion, subresource, now } = request;
  const operation = 'Update';
  const result: Manager[] = [];
  const writer = managers.length === 0 ? undefined : yield* keepOthers(managers, request, changes, result);
  if (!isEmptySet(touched)) {
    const fields = union(writer?.left.fields ?? emptySet, touched);
    // Its time is that of the last change of what it manages, not of the values.
    if (writer !== undefined && setsEqual(fields, writer.before.fields)) result.push(writer.before);
    else {
      const [time, inOrder] = [timeOf(now) ?? writer?.before.time, writer?.left.inOrder !== false];
      // Spelled out: copies of members one by one cost as much as all the rest here.
      result.push({ name, operation, apiVersion, subresource, time, fields, inOrder, entry: undefined });
    }
  }
  return writeManagers(joinOldUpdaters(result));
}
