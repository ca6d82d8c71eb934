/**
 * Server-side apply: a manager says what it wants, and the server works out the object. Semantics of release 1.24
 * (structured-merge-diff merge/update.go and apiserver endpoints/handlers/fieldmanager).
 */

import { compare } from '#apimachinery/apply/compare.js';
import { conflictError, type ManagerConflict } from '#apimachinery/apply/conflicts.js';
import { type Converting, withoutQuestions } from '#apimachinery/apply/conversions.js';
import { AmbiguousElementError } from '#apimachinery/apply/edges.js';
import {
  difference,
  emptySet,
  type FieldSet,
  intersection,
  isEmptySet,
  sorted,
  union,
} from '#apimachinery/apply/field-set.js';
import { fieldsOf } from '#apimachinery/apply/fields-of.js';
import {
  manageable,
  managerBeforeApply,
  neverManaged,
  unmanaged,
  type WriteInfo,
} from '#apimachinery/apply/managed-fields.js';
import {
  entriesOf,
  type ManagedFieldsEntry,
  type Manager,
  readManagers,
  retimed,
  sameManager,
  withoutEntries,
  withoutFields,
  writeManagers,
} from '#apimachinery/apply/managers.js';
import { mergeSteps } from '#apimachinery/apply/merge.js';
import { faultText, shapeFaults } from '#apimachinery/apply/shapes.js';
import { asObject, type JsonObject } from '#apimachinery/apply/structure.js';
import { type ChangesOf, changesByVersion, pruned } from '#apimachinery/apply/versions.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { JsonWalk } from '#apimachinery/codec/json/walk.js';
import { copyJsonSteps } from '#apimachinery/collections/copy.js';
import { badRequest, statusOf, unclassified } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { conversionFailure } from '#apimachinery/patch/conversion-failure.js';

export interface ApplyRequest extends WriteInfo {
  /** Undefined when the object does not exist yet. */
  readonly live: JsonObject | undefined;
  /** The configuration as it was parsed; not changed. */
  readonly applied: unknown;
  /** Take over what others manage. */
  readonly force: boolean;
  /**
   * The client's own manager name and the annotation in which it used to keep what it applied: fields that still are as
   * that says are taken over without `force` from the manager that wrote them then.
   */
  readonly clientSideApply?: { readonly manager: string; readonly annotation: string };
  /** The version that conflicts name for updates, where the request speaks of a part in a version of its own. */
  readonly toldAs?: string;
}

/** What is applied, without who does. */
export type Configuration = Pick<ApplyRequest, 'type' | 'apiVersion' | 'applied'>;

export interface ApplyResult {
  /** The merged object, with its managedFields; not yet defaulted or validated. */
  readonly object: Record<string, unknown>;
  readonly managedFields: ManagedFieldsEntry[];
  /** False when nothing but, perhaps, who manages what has changed. */
  readonly changed: boolean;
}

/** A configuration as it was read. */
interface ReadConfiguration {
  /** With canonical values; zero values stay, since the applier wants them. As it came where there is a fault. */
  readonly applied: JsonObject;
  /** A value that cannot be read, which 1.24 finds out once nothing conflicts. */
  readonly fault?: Error;
}

/** Throws 400 for another version and for managers, and 500 for what has not the shape of the type. */
export function* readApplied(request: Configuration): Steps<JsonObject> {
  const { applied, fault } = yield* readConfiguration(request);
  if (fault !== undefined) throw fault;
  return applied;
}

function* readConfiguration(request: Configuration): Steps<ReadConfiguration> {
  const { applied, type } = request;
  const { apiVersion, kind, metadata } = asObject(applied);
  if (apiVersion !== request.apiVersion) {
    const given = typeof apiVersion === 'string' ? apiVersion : '';
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${given}, expected: ${request.apiVersion}`,
    );
  }
  if (Array.isArray(asObject(metadata).managedFields)) throw badRequest('metadata.managedFields must be nil');
  const untyped = (why: string) =>
    unclassified(`failed to create typed patch object (${whereOf(request, applied)}): ${why}`);
  if (kind !== type.shortName) throw untyped(`no corresponding type for ${versionKind(request)}`);
  const faults = shapeFaults(type, asObject(applied));
  if (faults.length > 0) throw untyped(faultText(faults));
  yield;
  // The walk works in place.
  const own = yield* copyJsonSteps(applied);
  yield;
  try {
    const walk = new JsonWalk({ collectUnknown: false, limit: 0, keepZeros: true });
    return { applied: walk.root(type, own) as JsonObject };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const why = conversionFailure(type, applied) ?? error.message;
    const what = `unable to convert unstructured object to ${versionKind(request)}: ${why}`;
    const message = `failed to convert new object (${whereOf(request, applied)}) to proper version: ${what}`;
    // 1.24 takes other bits of a number that is too large; who sends it is told instead.
    const fault = /^cannot convert int64 to u?int32$/.test(why) ? badRequest(message) : unclassified(message);
    return { applied: (yield* copyJsonSteps(applied)) as JsonObject, fault };
  }
}

/** An object as messages of 1.24 name it: `default/web; apps/v1, Kind=Deployment`. */
function whereOf(request: Configuration, object: unknown): string {
  const { namespace, name } = asObject(asObject(object).metadata);
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return `${text(namespace)}/${text(name)}; ${versionKind(request)}`;
}

/** Why nothing can be applied to an object that has elements which cannot be told apart. */
function untypedLive(request: ApplyRequest, live: JsonObject, isUnmanaged: boolean): Error {
  const where = whereOf(request, live);
  const why = faultText(shapeFaults(request.type, live));
  return unclassified(
    isUnmanaged
      ? `failed to create manager for existing fields: failed to convert new object (${where}) to smd typed: ${why}`
      : `failed to create typed live object (${where}): ${why}`,
  );
}

/** Version and kind of a configuration as messages of 1.24 name them: `/v1, Kind=Pod`. */
function versionKind({ applied, apiVersion }: Configuration): string {
  const { kind } = asObject(applied);
  return `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${typeof kind === 'string' ? kind : ''}`;
}

/** Fields of which the live object still holds what client-side apply put there, in the version that is applied now. */
function* appliedByClient({ type, apiVersion }: ApplyRequest, live: JsonObject, annotation: string): Steps<FieldSet> {
  const text = asObject(asObject(live.metadata).annotations)[annotation];
  if (typeof text !== 'string') return emptySet;
  let last: JsonObject;
  try {
    last = new JsonWalk({ collectUnknown: false, limit: 0, keepZeros: true }).root(
      type,
      parseJSONText(text),
    ) as JsonObject;
  } catch {
    // The annotation is the client's own: an unreadable one allows nothing.
    return emptySet;
  }
  if (last.apiVersion !== apiVersion) return emptySet;
  const { touched, removed } = yield* compare(type, last, live);
  return difference(yield* fieldsOf(type, last), union(touched, removed));
}

function conflictsWith(others: readonly Manager[], changesFor: ChangesOf): ManagerConflict[] {
  return others
    .map((manager) => ({ manager, fields: intersection(manager.fields, changesFor(manager)?.touched ?? emptySet) }))
    .filter(({ fields }) => !isEmptySet(fields));
}

/** What remains of the conflicts when fields of client-side apply may be taken over. */
function* unforgiven(
  conflicts: readonly ManagerConflict[],
  live: JsonObject,
  request: ApplyRequest,
): Steps<ManagerConflict[]> {
  const client = request.clientSideApply;
  if (request.force) return [];
  if (client === undefined || client.manager !== request.manager) return [...conflicts];
  const allowed = yield* appliedByClient(request, live, client.annotation);
  return conflicts
    .map(({ manager, fields }) => ({ manager, fields: difference(fields, allowed) }))
    .filter(({ fields }) => !isEmptySet(fields));
}

/** Keeps the annotation of client-side apply up to date where there is one, so that old clients go on working. */
function refreshAnnotation(object: JsonObject, live: JsonObject, request: ApplyRequest): JsonObject {
  const client = request.clientSideApply;
  if (client === undefined || client.manager !== request.manager) return object;
  if (asObject(asObject(live.metadata).annotations)[client.annotation] === undefined) return object;
  const metadata = asObject(object.metadata);
  const annotations = {
    ...asObject(metadata.annotations),
    [client.annotation]: `${toJSONText(request.applied)}\n`,
  };
  return { ...object, metadata: { ...metadata, annotations } };
}

/**
 * Applies a configuration, where all versions are converted in the process. Throws 400 for another version and for managers,
 * 500 for what is not of the type, as 1.24 does, to which these are failures of its own, and 409 Conflict with one cause per
 * field when it changes what others manage and `force` is not set.
 */
export function applyPatch(request: ApplyRequest): ApplyResult {
  return withoutQuestions(applySteps(request));
}

/** The same step by step: each takes a time that goes with the size of the objects, and others may run in between. */
export function* applySteps(request: ApplyRequest): Converting<ApplyResult> {
  const live = withoutEntries(request.live ?? {});
  let managers = readManagers(entriesOf(request.live)) ?? [];
  const isUnmanaged = managers.length === 0 && request.live !== undefined;
  try {
    if (isUnmanaged) managers = yield* managerBeforeApply(request, live);
    return yield* applyTo(live, managers, request);
  } catch (error) {
    throw error instanceof AmbiguousElementError ? untypedLive(request, live, isUnmanaged) : error;
  }
}

function* applyTo(live: JsonObject, managers: readonly Manager[], request: ApplyRequest): Converting<ApplyResult> {
  const { applied, fault } = yield* readConfiguration(request);
  yield;
  const merging = mergeInto({ live, managers, applied, request });
  if (fault === undefined) return yield* merging;
  let result: ApplyResult;
  try {
    result = yield* merging;
  } catch (error) {
    // These are found before any value is read. Whatever else goes wrong is because of the fault.
    if (error instanceof AmbiguousElementError || statusOf(error)?.code === 409) throw error;
    throw fault;
  }
  // The value is reset, so that nothing of it is read.
  if (!result.changed) return result;
  throw fault;
}

interface Merge {
  readonly live: JsonObject;
  readonly managers: readonly Manager[];
  /** As it was read. */
  readonly applied: JsonObject;
  readonly request: ApplyRequest;
}

function* mergeInto({ live, managers, applied, request }: Merge): Converting<ApplyResult> {
  const { type } = request;
  const self = {
    name: request.manager,
    operation: 'Apply',
    apiVersion: request.apiVersion,
    subresource: request.subresource,
  } as const;
  const previous = managers.find((manager) => sameManager(manager, self));
  const others = managers.filter((manager) => !sameManager(manager, self));
  yield;
  const fields = yield* fieldsOf(type, applied);
  yield;
  const wanted = sorted(manageable(fields, request));
  yield;
  const merged = yield* mergeSteps(type, live, applied);
  yield;
  const spoken = { type, apiVersion: request.apiVersion, versions: request.versions };
  // What names the object is managed by nobody, and stays all the same.
  const pruning = { ...spoken, object: merged, others, wanted, always: neverManaged };
  const result = previous === undefined ? merged : yield* pruned({ ...pruning, previous });
  yield;

  const { uncompared } = unmanaged(request);
  const changes = yield* compare(type, live, result, uncompared);
  yield;
  const changesFor = yield* changesByVersion(
    {
      ...spoken,
      live: request.live === undefined ? undefined : live,
      updated: result,
      changes: { touched: difference(changes.touched, neverManaged), removed: changes.removed },
      isSame: changes.isSame,
      uncompared,
    },
    others,
  );
  const left = yield* unforgiven(conflictsWith(others, changesFor), live, request);
  if (left.length > 0) throw conflictError(left, request.toldAs);
  yield;

  const kept = others.flatMap((other) => {
    const theirs = changesFor(other);
    return theirs === undefined ? [] : [withoutFields(withoutFields(other, theirs.removed), theirs.touched)];
  });
  const manager = retimed(
    previous,
    { ...self, fields: wanted, inOrder: true, entry: undefined },
    request.now,
    !changes.isSame,
  );
  yield;
  const managedFields = writeManagers([...kept, manager]);
  // What the endpoint resets may be there in the result: it is no change by itself.
  const object = refreshAnnotation(changes.isSame ? live : result, live, request);
  const metadata = asObject(object.metadata);
  return {
    object: { ...object, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } },
    managedFields,
    changed: !changes.isSame,
  };
}
