/**
 * Server-side apply: a manager states the fields it wants and the server computes the object. Follows release 1.24
 * (structured-merge-diff merge/update.go and apiserver endpoints/handlers/fieldmanager).
 */

import { fieldsOf } from '#apimachinery/apply/applied-fields.js';
import { compare } from '#apimachinery/apply/compare.js';
import { conflictError, type ManagerConflict } from '#apimachinery/apply/conflicts.js';
import { type Converting, withoutQuestions } from '#apimachinery/apply/conversions.js';
import {
  difference,
  emptySet,
  type FieldSet,
  intersection,
  isEmptySet,
  sorted,
  union,
} from '#apimachinery/apply/field-set.js';
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
import { AmbiguousElementError } from '#apimachinery/apply/path-elements.js';
import { faultText, shapeFaults } from '#apimachinery/apply/schema-check.js';
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
  /** The parsed configuration; never modified. */
  readonly applied: unknown;
  /** Take over fields of other managers. */
  readonly force: boolean;
  /**
   * The client's own manager name and its last-applied annotation. Fields that still equal that annotation are taken
   * over from the manager that wrote them, without `force`.
   */
  readonly clientSideApply?: { readonly manager: string; readonly annotation: string };
  /** The API version of updates in conflict messages, if the addressed part has a version of its own. */
  readonly conflictVersion?: string;
}

/** The applied configuration, without its manager. */
export type Configuration = Pick<ApplyRequest, 'type' | 'apiVersion' | 'applied'>;

export interface ApplyResult {
  /** The merged object with its managedFields; not defaulted or validated yet. */
  readonly object: Record<string, unknown>;
  readonly managedFields: ManagedFieldsEntry[];
  /** False when the object itself stays the same; managers may have changed. */
  readonly changed: boolean;
}

/** A configuration after decoding. */
interface ReadConfiguration {
  /** Values are canonical. Zero values stay, because the manager wants them. Unconverted if there is a fault. */
  readonly applied: JsonObject;
  /** A value that cannot be decoded. Like 1.24, apply reports it only if there are no conflicts. */
  readonly fault?: Error;
}

/** Throws 400 for another version or for managedFields, and 500 when the shape of the type is violated. */
export function* readApplied(request: Configuration): Steps<JsonObject> {
  const { applied, fault } = yield* readConfiguration(request);
  if (fault !== undefined) throw fault;
  return applied;
}

function* readConfiguration(request: Configuration): Steps<ReadConfiguration> {
  const { applied, type } = request;
  const { apiVersion, kind, metadata } = asObject(applied);
  if (apiVersion !== request.apiVersion) {
    const version = typeof apiVersion === 'string' ? apiVersion : '';
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${version}, expected: ${request.apiVersion}`,
    );
  }
  if (Array.isArray(asObject(metadata).managedFields)) throw badRequest('metadata.managedFields must be nil');
  const untyped = (why: string) =>
    unclassified(`failed to create typed patch object (${whereOf(request, applied)}): ${why}`);
  if (kind !== type.shortName) throw untyped(`no corresponding type for ${versionKind(request)}`);
  const faults = shapeFaults(type, asObject(applied));
  if (faults.length > 0) throw untyped(faultText(faults));
  yield;
  // The walk modifies its input.
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
    // 1.24 truncates a number that is too large; this server rejects it with 400.
    const fault = /^cannot convert int64 to u?int32$/.test(why) ? badRequest(message) : unclassified(message);
    return { applied: (yield* copyJsonSteps(applied)) as JsonObject, fault };
  }
}

/** The name of an object in messages of 1.24: `default/web; apps/v1, Kind=Deployment`. */
function whereOf(request: Configuration, object: unknown): string {
  const { namespace, name } = asObject(asObject(object).metadata);
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return `${text(namespace)}/${text(name)}; ${versionKind(request)}`;
}

/** The error for a live object with elements that cannot be told apart. */
function untypedLive(request: ApplyRequest, live: JsonObject, isUnmanaged: boolean): Error {
  const where = whereOf(request, live);
  const why = faultText(shapeFaults(request.type, live));
  return unclassified(
    isUnmanaged
      ? `failed to create manager for existing fields: failed to convert new object (${where}) to smd typed: ${why}`
      : `failed to create typed live object (${where}): ${why}`,
  );
}

/** Version and kind of a configuration in messages of 1.24: `/v1, Kind=Pod`. */
function versionKind({ applied, apiVersion }: Configuration): string {
  const { kind } = asObject(applied);
  return `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${typeof kind === 'string' ? kind : ''}`;
}

/** Fields whose live values still equal the last client-side apply, in the version of the request. */
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
    // The client owns the annotation: an unreadable one permits nothing.
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

/** The conflicts that remain after fields of client-side apply were taken over. */
function* remainingConflicts(
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

/** Updates the client-side apply annotation if present, so that old clients keep working. */
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
 * Applies a configuration where all versions are converted in this process. Throws 400 for another version or for
 * managedFields, 500 for a violated type (1.24 treats that as a server error), and 409 Conflict with one cause per
 * field when it changes fields of other managers without `force`.
 */
export function applyPatch(request: ApplyRequest): ApplyResult {
  return withoutQuestions(applySteps(request));
}

/** `applyPatch` in steps, each proportional to the size of the objects, so that other work can run in between. */
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
    // 1.24 detects these before it reads any value; every other error is a consequence of the fault.
    if (error instanceof AmbiguousElementError || statusOf(error)?.code === 409) throw error;
    throw fault;
  }
  // Only a reset field has the fault, so its value is never read.
  if (!result.changed) return result;
  throw fault;
}

interface Merge {
  readonly live: JsonObject;
  readonly managers: readonly Manager[];
  /** The decoded configuration. */
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
  const appliedFields = sorted(manageable(fields, request));
  yield;
  const merged = yield* mergeSteps(type, live, applied);
  yield;
  const versionInfo = { type, apiVersion: request.apiVersion, versions: request.versions };
  // Fields that identify the object have no manager and always stay.
  const pruning = { ...versionInfo, object: merged, others, appliedFields, always: neverManaged };
  const result = previous === undefined ? merged : yield* pruned({ ...pruning, previous });
  yield;

  const { uncompared } = unmanaged(request);
  const changes = yield* compare(type, live, result, uncompared);
  yield;
  const changesFor = yield* changesByVersion(
    {
      ...versionInfo,
      live: request.live === undefined ? undefined : live,
      updated: result,
      changes: { touched: difference(changes.touched, neverManaged), removed: changes.removed },
      isSame: changes.isSame,
      uncompared,
    },
    others,
  );
  const conflicts = yield* remainingConflicts(conflictsWith(others, changesFor), live, request);
  if (conflicts.length > 0) throw conflictError(conflicts, request.conflictVersion);
  yield;

  const otherManagers = others.flatMap((other) => {
    const theirs = changesFor(other);
    return theirs === undefined ? [] : [withoutFields(withoutFields(other, theirs.removed), theirs.touched)];
  });
  const manager = retimed(
    previous,
    { ...self, fields: appliedFields, inOrder: true, entry: undefined },
    request.now,
    !changes.isSame,
  );
  yield;
  const managedFields = writeManagers([...otherManagers, manager]);
  // Fields that the endpoint resets may differ in the result; alone they are no change.
  const object = refreshAnnotation(changes.isSame ? live : result, live, request);
  const metadata = asObject(object.metadata);
  return {
    object: { ...object, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } },
    managedFields,
    changed: !changes.isSame,
  };
}
