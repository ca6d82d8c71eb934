/** The read-modify-write loop of updates and patches: it starts again if another write wins. */

import { isDeepStrictEqual } from 'node:util';
import type { ApiObjectShape, OwnMetadata } from '#api/meta/object.js';
import type { PartUpdate, StrategyContext } from '#api/strategy/strategy.js';
import type { MaybePromise, Pause } from '#apimachinery/async/steps.js';
import { dropEmpties } from '#apimachinery/codec/json/empty-members.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import type { Draft } from '#apimachinery/draft.js';
import { conflict, invalid, notFound, optimisticLockMessage, type StatusError } from '#apimachinery/errors/status.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import { type AdmissionCall, type MutatingCall, runAdmission } from '#apiserver/registry/admit.js';
import { removesOnUpdate } from '#apiserver/registry/deletion-plan.js';
import { dropClusterName, dropRepeatedOwners, objectVersion } from '#apiserver/registry/object-metadata.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { admitChanges, recordManagers, tooLargeToFit, writeFitting } from '#apiserver/registry/record-managers.js';
import { shareUnchanged, type UpdateBase, updateBase } from '#apiserver/registry/update-base.js';
import { beginUpdate, deleted, leaderCondition, undoAll, updated } from '#apiserver/registry/write-hooks.js';
import type { WriteOptions } from '#apiserver/registry/write-request.js';
import { endValidation, pauseOf, type Step, setKindDefaults, takeSteps } from '#apiserver/registry/write-steps.js';
import {
  converted,
  encodeForStorage,
  keyOf,
  markCanonical,
  type ServedResource,
  TransientEntry,
} from '#apiserver/resources/served-resource.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';
import type { Entry, WriteCondition } from '#storage/resource-storage.js';

/** The part of an object that a request may change. */
export interface UpdateProfile extends PartUpdate {
  /** Empty for the object itself. */
  readonly subresource: string;
}

export interface Mutation {
  readonly namespace: string;
  readonly name: string;
  readonly profile: UpdateProfile;
  readonly options: WriteOptions;
  /**
   * Returns the desired object, which later steps change in place, so it shares nothing with `current`. Its
   * metadata.resourceVersion, if set, must be the current one. Not called for a missing object. `pause` is awaited between
   * the steps of a long change.
   */
  change(
    current: ApiObjectShape,
    start: UpdateBase,
    pause: Pause,
  ): Draft<ApiObjectShape> | Promise<Draft<ApiObjectShape>>;
  /** Creates the missing object; undefined if another client did so first. Absent: 404. */
  readonly create?: () => Promise<Entry | undefined>;
  /** False: the caller has set managedFields itself (server-side apply). */
  readonly trackFields?: boolean;
}

export interface Mutated {
  readonly entry: Entry;
  readonly created: boolean;
}

/** Throws 404, 409 (stale version), 422, and the errors of admission and `change`. */
export async function mutate(operation: Operation, mutation: Mutation): Promise<Mutated> {
  const { context, resource } = operation;
  const key = keyOf(resource, mutation.namespace, mutation.name);
  const { storage } = resource;
  const latest = () => storage.get(key, { kind: 'latest' }, context.cancellation);
  // The cache may be stale, so it alone must not cause a refusal or a skipped write. A dry run writes nothing that would
  // reveal a stale read.
  let fresh = mutation.options.dryRun;
  let base = await storage.get(key, { kind: fresh ? 'latest' : 'any' }, context.cancellation);
  for (;;) {
    const outcome = await attempt(operation, { mutation, base, key }).catch((error: unknown) => ({
      error,
    }));
    if ('written' in outcome) return outcome.written;
    if ('raced' in outcome) {
      base = outcome.raced;
      fresh = true;
      continue;
    }
    if (!fresh) {
      const current = await latest();
      fresh = true;
      if (current?.revision !== base?.revision) {
        base = current;
        continue;
      }
    }
    if ('error' in outcome) throw outcome.error;
    return { entry: outcome.unchanged, created: false };
  }
}

type Outcome =
  | { readonly written: Mutated }
  /** Another write won: the entry as it is now. */
  | { readonly raced: Entry | undefined }
  /** Nothing to write. */
  | { readonly unchanged: Entry };

interface Attempt {
  readonly mutation: Mutation;
  readonly base: Entry | undefined;
  readonly key: string;
}

/** A changed object on its way into the store. */
interface Change {
  readonly operation: Operation;
  readonly mutation: Mutation;
  readonly base: Entry;
  readonly key: string;
  readonly tracked: boolean;
  readonly rules: StrategyContext;
  readonly pause: Pause;
  readonly start: UpdateBase;
  readonly object: Draft<ApiObjectShape>;
  readonly admission: MutatingCall & { readonly object: Draft<ApiObjectShape> };
  /** Set if the object is too large for the store even without managedFields. */
  tooLarge?: StatusError | undefined;
  /** Conditions of the write, set by admission. */
  conditions?: readonly WriteCondition[];
  outcome?: Outcome;
}

/** The change once its object shares unchanged parts with the stored one: only its metadata are its own. */
type Prepared = Omit<Change, 'object' | 'admission'> & {
  readonly object: OwnMetadata;
  readonly admission: AdmissionCall;
};

/** Steps that turn the request into the object to store. */
const preparation: readonly Step<Change>[] = [setDefaults, recordWriter, admit, prepare, measure];
const replacement: readonly Step<Prepared>[] = [validate, admitResult, store];

async function attempt(operation: Operation, { mutation, base, key }: Attempt): Promise<Outcome> {
  const { registry, context, resource } = operation;
  const { profile, options, trackFields: tracked = true } = mutation;
  if (base === undefined) {
    if (mutation.create === undefined) throw notFound(resource.qualified, mutation.name);
    const entry = await mutation.create();
    if (entry !== undefined) return { written: { entry, created: true } };
    // Another client has created the object: update it, or report it missing if it is gone again.
    return { raced: await resource.storage.get(key, { kind: 'latest' }, context.cancellation) };
  }
  const rules = strategyContext(registry, context);
  const pause = pauseOf(operation, base);
  await converted(resource, [base], context);
  const start = await updateBase(registry, resource, base, { rules, pause });
  await pause();
  const object = await mutation.change(start.object, start, pause);
  await pause();
  const { dryRun } = options;
  const change: Change = {
    ...{ operation, mutation, base, key, tracked, rules, pause, start, object },
    admission: {
      ...{ operation: 'UPDATE', subresource: profile.subresource, namespace: mutation.namespace },
      ...{ name: mutation.name, dryRun, object, oldObject: start.object },
    },
  };
  checkIdentity(resource, object, start.object);
  await takeSteps(change, preparation, pause);
  const undo = await beginUpdate(registry, resource, { object, old: start.object, dryRun });
  try {
    // From here on the object is only read.
    shareUnchanged(object, start);
    await pause();
    await takeSteps(change, replacement, pause);
  } catch (error) {
    await undoAll(registry, undo);
    throw error;
  }
  const outcome = change.outcome as Outcome;
  if (dryRun || !('written' in outcome)) await undoAll(registry, undo);
  return outcome;
}

function setDefaults({ operation, object, rules, tracked }: Change): MaybePromise<void> {
  dropClusterName(operation.context, object.metadata);
  return setKindDefaults(operation, object, rules, tracked ? undefined : 'applied');
}

function recordWriter({ operation, mutation, object, start, base, tracked, pause }: Change): MaybePromise<void> {
  if (!tracked) return undefined;
  const { subresource } = mutation.profile;
  const recorded = { object, old: start.object, manager: mutation.options.fieldManager, subresource, stored: base };
  return recordManagers(operation, recorded, pause);
}

async function admit({ operation, admission, object }: Change): Promise<void> {
  await admitChanges(operation, admission);
  dropRepeatedOwners(operation.context, object, 'admitted');
}

function prepare({ operation: { registry }, mutation: { profile }, object, start, rules }: Change): void {
  profile.prepare(object, start.object, rules);
  registry.codec.complete(object);
}

function measure(change: Change): void {
  const { operation, object, tracked, base } = change;
  change.tooLarge = tooLargeToFit(operation.context, object, { tracked, stored: base });
}

function validate({ operation, mutation, object, start, rules, tooLarge }: Prepared): MaybePromise<void> {
  const { profile, name } = mutation;
  const failures = profile.validate(object, start.object, rules);
  const part = profile.subresource === 'status' ? ('status' as const) : undefined;
  const candidate = { object, old: start.object, part, name, rules, tooLarge };
  return endValidation(operation, candidate, failures, { warns: profile.subresource === '' });
}

async function admitResult(change: Prepared): Promise<void> {
  change.conditions = await runAdmission('validate', change.operation, change.admission);
}

async function store(change: Prepared): Promise<void> {
  dropEmpties(change.operation.resource.type, change.object);
  change.outcome = await writeFitting(change.object, change.tracked, () => write(change));
}

async function write(change: Prepared): Promise<Outcome> {
  const { operation, object, start, base, key, pause } = change;
  const { registry, context, resource } = operation;
  const { dryRun } = change.mutation.options;
  const old = start.object;
  const conditions = {
    signal: context.cancellation,
    conditions: [...leaderCondition(registry, context), ...(change.conditions ?? [])],
  };
  const options = { request: context, pause };
  if (removesOnUpdate(resource, object, old)) {
    const bytes = await encodeForStorage(resource, object, options);
    const answer = (revision: bigint) => written(new TransientEntry(base.key, bytes, revision, resource.stored.type));
    if (dryRun) return answer(base.revision);
    const result = await resource.storage.delete(key, base.revision, conditions);
    if (!result.ok) return { raced: result.current };
    await deleted(registry, resource, object);
    return answer(result.entry.revision);
  }
  // Skip a write that changes nothing, unless the stored form is outdated.
  const comparable = base.stale !== true;
  if (comparable && start.isStored && sameObject(object, old)) return { unchanged: base };
  const bytes = await encodeForStorage(resource, object, options);
  if (comparable && !start.isStored && sameStored(bytes, base)) return { unchanged: base };
  if (dryRun) return written(new TransientEntry(base.key, bytes, base.revision, resource.stored.type));
  const lifetime = resource.ttlSeconds === undefined ? {} : { ttlSeconds: resource.ttlSeconds };
  const result = await resource.storage.update(key, bytes, base.revision, { ...lifetime, ...conditions });
  if (!result.ok) return { raced: result.current };
  if (start.canonical) markCanonical(resource, result.entry);
  await updated(registry, resource, object, old);
  return written(result.entry);
}

function written(entry: Entry): Outcome {
  return { written: { entry, created: false } };
}

/** True for equal objects, whatever their versions. Fast, because unchanged parts are shared. */
function sameObject(a: ApiObjectShape, b: ApiObjectShape): boolean {
  const unversioned = ({ metadata }: ApiObjectShape) => ({ ...metadata, resourceVersion: undefined });
  return (
    jsonEqual({ ...a, metadata: undefined }, { ...b, metadata: undefined }) && jsonEqual(unversioned(a), unversioned(b))
  );
}

/** Compares with a stored entry. Its bytes are assembled only if the lengths match. */
function sameStored(bytes: Buffer, base: Entry): boolean {
  const withVersion = bytes.length + `"resourceVersion":"${base.revision}",`.length;
  return withVersion === base.size && sameJson(bytes, base.stored);
}

/** True for the same JSON with members in any order: clients write them in their own order. */
function sameJson(a: Buffer, b: Buffer): boolean {
  if (a.length !== b.length) return false;
  if (a.equals(b)) return true;
  // Reordering keeps the sum of the bytes, which almost every real change alters.
  return sumOf(a) === sumOf(b) && isDeepStrictEqual(parseJSONText(a.toString()), parseJSONText(b.toString()));
}

function sumOf(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i++) sum += bytes[i] as number;
  return sum;
}

/**
 * Checks the system's metadata: restores what cannot change and fills in what the client left out; validation refuses the
 * rest. Throws 409 for a stale version, and 500 for a malformed one.
 */
function checkIdentity(resource: ServedResource, object: Draft<ApiObjectShape>, old: ApiObjectShape): void {
  const { metadata } = object;
  const name = old.metadata.name ?? '';
  const version = objectVersion(metadata.resourceVersion);
  if (version !== 0n && version !== objectVersion(old.metadata.resourceVersion)) {
    throw conflict(resource.qualified, name, optimisticLockMessage);
  }
  if (version === 0n && resource.strategy.allowUnconditionalUpdate === false) {
    const field = 'metadata.resourceVersion';
    const message = 'Invalid value: 0x0: must be specified for an update';
    // Here 1.24 names the resource instead of the kind.
    throw invalid({ group: resource.group, kind: resource.declaration.resource }, name, [
      { field, reason: 'FieldValueInvalid', message },
    ]);
  }
  metadata.name ??= name;
  for (const field of ['namespace', 'uid'] as const) {
    const value = old.metadata[field];
    if ((metadata[field] ?? '') === '' && value !== undefined) metadata[field] = value;
  }
  for (const field of ['creationTimestamp', 'deletionTimestamp'] as const) {
    const value = old.metadata[field];
    if (value !== undefined) metadata[field] = value;
  }
  if (metadata.deletionGracePeriodSeconds === undefined && old.metadata.deletionGracePeriodSeconds !== undefined) {
    metadata.deletionGracePeriodSeconds = old.metadata.deletionGracePeriodSeconds;
  }
  delete metadata.selfLink;
}
