import type { ApiObjectShape } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { MaybePromise, Pause } from '#apimachinery/async/steps.js';
import { formatTime } from '#apimachinery/clock.js';
import { dropEmpties } from '#apimachinery/codec/json/empty-members.js';
import type { Draft } from '#apimachinery/draft.js';
import { alreadyExists, badRequest, conflict, StatusError, unclassified } from '#apimachinery/errors/status.js';
import { generateName } from '#apimachinery/generate-name.js';
import { attributesOf, authorize } from '#apiserver/authorization/authorize.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { type MutatingCall, runAdmission } from '#apiserver/registry/admit.js';
import { entryResponse, negotiateObject } from '#apiserver/registry/entry-response.js';
import {
  dropClusterName,
  dropRepeatedOwners,
  initialVersion,
  objectVersion,
} from '#apiserver/registry/object-metadata.js';
import type { Operation, RegistryContext } from '#apiserver/registry/operation.js';
import { admitChanges, recordManagers, tooLargeToFit, writeFitting } from '#apiserver/registry/record-managers.js';
import { beginCreate, leaderCondition, undoAll } from '#apiserver/registry/write-hooks.js';
import { readBody, type WriteOptions, writeOptions } from '#apiserver/registry/write-request.js';
import { endValidation, pauseOf, type Step, setKindDefaults, takeSteps } from '#apiserver/registry/write-steps.js';
import {
  encodeForStorage,
  keyOf,
  markCanonical,
  type ServedResource,
  TransientEntry,
} from '#apiserver/resources/served-resource.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';
import type { Entry, WriteCondition } from '#storage/resource-storage.js';

/** Names tried for `generateName` before the request fails. */
const nameAttempts = 8;

/** POST to a collection. */
export async function createObject(operation: Operation): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const form = negotiateObject(operation);
  const options = writeOptions(registry, context, 'CreateOptions');
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const object = await readBody(registry, context, type, options.fieldValidation);
  const outcome = await insert(operation, { object, options, namespace: context.info.namespace });
  if ('nameTaken' in outcome) throw outcome.nameTaken;
  return entryResponse(operation, { entry: outcome.entry, form, status: 201 });
}

/**
 * Creates the missing object of an update or apply; undefined if it exists by now. Requires the right to create. Throws 403,
 * and 409 if the request names a UID: a different object must not silently take its place.
 */
export async function createInstead(operation: Operation, insertion: Insertion): Promise<Entry | undefined> {
  const { registry, context, resource } = operation;
  await authorize(registry.authorizer, { ...attributesOf(context.info, context.user), verb: 'create' });
  const { metadata } = insertion.object;
  if ((metadata.uid ?? '') !== '') {
    const why = `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`;
    throw conflict(resource.qualified, context.info.name, why);
  }
  // 1.24 creates even if a version is given, but refuses a malformed one.
  objectVersion(metadata.resourceVersion);
  delete metadata.resourceVersion;
  const outcome = await insert(operation, insertion);
  return 'entry' in outcome ? outcome.entry : undefined;
}

export interface Insertion {
  /** Changed in place; the caller must not use it afterwards. */
  readonly object: Draft<ApiObjectShape>;
  readonly namespace: string;
  readonly options: WriteOptions;
  /** False: the caller has set managedFields itself (server-side apply). */
  readonly trackFields?: boolean;
}

/** A new object on its way into the store. */
interface Creation extends Insertion {
  readonly operation: Operation;
  readonly trackFields: boolean;
  readonly rules: StrategyContext;
  readonly pause: Pause;
  /** Prefix of the generated name; empty if the client chose the name. */
  readonly generateName: string;
  readonly admission: MutatingCall & { readonly object: Draft<ApiObjectShape> };
  /** Set if the object is too large for the store even without managedFields. */
  tooLarge?: StatusError | undefined;
  /** Conditions of the write, set by admission. */
  conditions?: readonly WriteCondition[];
  /** The stored entry; absent if the name is taken. */
  entry?: Entry | undefined;
}

/** Steps that turn the client's body into the object to store. */
const preparation: readonly Step<Creation>[] = [setIdentity, setDefaults, recordCreator, admit, prepare, measure];
/** Steps that run again under another name if a generated one is taken. */
const insertion: readonly Step<Creation>[] = [validate, admitResult, store];

/** Runs a new object through all steps. Returns a 409 as `nameTaken` if its name is taken. */
async function insert(
  operation: Operation,
  { trackFields = true, ...inserted }: Insertion,
): Promise<{ readonly entry: Entry } | { readonly nameTaken: StatusError }> {
  const { registry, context, resource } = operation;
  const { object, options, namespace } = inserted;
  const { name = '', generateName: base = '' } = object.metadata;
  const creation: Creation = {
    ...{ ...inserted, operation, trackFields },
    rules: strategyContext(registry, context),
    pause: pauseOf(operation),
    generateName: name === '' ? base : '',
    // Leave out a generated name: in 1.24, admission sees it only in the object.
    admission: { operation: 'CREATE', subresource: '', namespace, name, dryRun: options.dryRun, object },
  };
  await takeSteps(creation, preparation, creation.pause);
  for (let attempt = 1; ; attempt += 1) {
    if (creation.generateName !== '') object.metadata.name = generateName(base, registry.random);
    resource.strategy.completeCreate?.(object, creation.rules);
    const undo = await beginCreate(registry, resource, object, options.dryRun);
    try {
      await takeSteps(creation, insertion, creation.pause);
    } catch (error) {
      await undoAll(registry, undo);
      throw error;
    }
    const { entry } = creation;
    if (entry === undefined || options.dryRun) await undoAll(registry, undo);
    if (entry !== undefined) return { entry };
    const generated = creation.generateName !== '';
    if (!generated || attempt === nameAttempts) return { nameTaken: nameTakenError(resource, object, generated) };
  }
}

/** Runs first because some kinds derive selectors and names from the UID. */
function setIdentity({ operation: { registry, context, resource }, object, namespace }: Creation): void {
  requireNamespace(resource, object, namespace);
  setSystemFields(registry, object);
  dropClusterName(context, object.metadata);
}

function setDefaults({ operation, object, rules, trackFields }: Creation): MaybePromise<void> {
  return setKindDefaults(operation, object, rules, trackFields ? undefined : 'applied');
}

function recordCreator({ operation, object, options, trackFields, pause }: Creation): MaybePromise<void> {
  dropRepeatedOwners(operation.context, object, 'received');
  if (!trackFields) return undefined;
  return recordManagers(operation, { object, manager: options.fieldManager, subresource: '' }, pause);
}

async function admit({ operation, admission, object }: Creation): Promise<void> {
  await admitChanges(operation, admission);
  dropRepeatedOwners(operation.context, object, 'admitted');
}

function prepare({ operation: { registry, resource }, object, rules }: Creation): void {
  delete object.metadata.deletionTimestamp;
  delete object.metadata.deletionGracePeriodSeconds;
  resource.strategy.prepareForCreate?.(object, rules);
  registry.codec.complete(object);
}

function measure(creation: Creation): void {
  const { operation, object, trackFields } = creation;
  creation.tooLarge = tooLargeToFit(operation.context, object, { tracked: trackFields });
}

function validate({ operation, object, rules, tooLarge }: Creation): MaybePromise<void> {
  const failures = operation.resource.strategy.validateCreate?.(object, rules) ?? [];
  const { name, generateName: base = '' } = object.metadata;
  const candidate = { object, old: undefined, name: name ?? base, rules, tooLarge };
  return endValidation(operation, candidate, failures, { warns: true });
}

async function admitResult(creation: Creation): Promise<void> {
  creation.conditions = await runAdmission('validate', creation.operation, creation.admission);
}

async function store(creation: Creation): Promise<void> {
  dropEmpties(creation.operation.resource.type, creation.object);
  creation.entry = await writeFitting(creation.object, creation.trackFields, () => write(creation));
}

/**
 * Undefined if the name is taken. Throws 500 if the object already has a version: last, because in 1.24 the store detects
 * it, and not in dry runs.
 */
async function write({
  operation: { registry, context, resource },
  object,
  options: { dryRun },
  conditions = [],
  pause,
}: Creation): Promise<Entry | undefined> {
  const { cancellation: signal } = context;
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name ?? '');
  const bytes = await encodeForStorage(resource, object, { request: context, pause });
  const version = initialVersion(object.metadata.resourceVersion);
  if (dryRun) {
    const present = await resource.storage.get(key, { kind: 'latest' }, signal);
    return present === undefined
      ? new TransientEntry(resource.storage.prefix + key, bytes, version, resource.stored.type)
      : undefined;
  }
  if (version !== 0n) throw unclassified('resourceVersion should not be set on objects to be created');
  const lifetime = resource.ttlSeconds === undefined ? {} : { ttlSeconds: resource.ttlSeconds };
  const options = { ...lifetime, signal, conditions: [...leaderCondition(registry, context), ...conditions] };
  const entry = await resource.storage.create(key, bytes, options);
  if (entry !== undefined) markCanonical(resource, entry);
  return entry;
}

function nameTakenError(resource: ServedResource, object: ApiObjectShape, generated: boolean): StatusError {
  const error = alreadyExists(resource.qualified, object.metadata.name ?? '');
  if (!generated) return error;
  const message = `${error.message}, the server was not able to generate a unique name for the object`;
  return new StatusError({ ...error.status, message, details: { ...error.status.details, retryAfterSeconds: 1 } });
}

/** Sets the object's namespace to the request's; throws 400 if it names another one. */
export function requireNamespace(resource: ServedResource, object: Draft<ApiObjectShape>, namespace: string): void {
  const { metadata } = object;
  if (!resource.declaration.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (namespace === '') throw badRequest('an empty namespace may not be set during creation');
  if ((metadata.namespace ?? '') === '') metadata.namespace = namespace;
  if (metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

function setSystemFields(registry: Pick<RegistryContext, 'clock' | 'newUID'>, object: Draft<ApiObjectShape>): void {
  const { metadata } = object;
  metadata.uid = registry.newUID();
  metadata.creationTimestamp = formatTime(registry.clock.now());
  delete metadata.selfLink;
}
