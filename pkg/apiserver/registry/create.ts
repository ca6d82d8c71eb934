import type { ApiObjectShape } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { andThen } from '#apimachinery/async/maybe-promise.js';
import { formatTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import {
  alreadyExists,
  badRequest,
  conflict,
  type FieldFailure,
  invalid,
  StatusError,
  unclassified,
} from '#apimachinery/errors/status.js';
import { generateName } from '#apimachinery/generate-name.js';
import { attributesOf, authorize } from '#apiserver/authorization/authorize.js';
import { warn } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { runAdmission } from '#apiserver/registry/admit.js';
import { readBody } from '#apiserver/registry/body.js';
import { dropClusterName } from '#apiserver/registry/cluster-name.js';
import { entryResponse, negotiateObject } from '#apiserver/registry/entry-response.js';
import { leaderCondition } from '#apiserver/registry/leader-condition.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { dropRepeatedOwners } from '#apiserver/registry/owner-references.js';
import { admitChanges, recordManagers, tooLargeToFit } from '#apiserver/registry/record-managers.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { initialVersion, objectVersion } from '#apiserver/registry/resource-version.js';
import { withRules } from '#apiserver/registry/rules.js';
import { markCanonical } from '#apiserver/registry/starting-point.js';
import { betweenSteps, isLarge } from '#apiserver/registry/steps.js';
import { writeFitting } from '#apiserver/registry/stored-size.js';
import { beginCreate, undoAll } from '#apiserver/registry/write-hooks.js';
import { type WriteOptions, writeOptions } from '#apiserver/registry/write-options.js';
import { formOf, keyOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';
import { TransientEntry } from '#apiserver/resources/transient-entry.js';
import type { Entry, WriteCondition } from '#storage/resource-storage.js';

/** Tries to find a free name for generateName before the request fails. */
const nameAttempts = 8;

/** POST to a collection. */
export async function createObject(operation: Operation): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const form = negotiateObject(operation);
  const options = writeOptions(registry, context, 'CreateOptions');
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const body = readBody(registry, context, type, options.fieldValidation);
  const object = body instanceof Promise ? await body : body;
  const large = isLarge(context);
  if (large) await betweenSteps(operation);
  const outcome = await insert(operation, { object, options, namespace: context.info.namespace });
  if ('taken' in outcome) throw outcome.taken;
  if (large) await betweenSteps(operation);
  return entryResponse(operation, { entry: outcome.entry, form, status: 201 });
}

/**
 * A new object by way of an update or an apply, which takes the right to create it; undefined when it is there. Throws 403,
 * and 409 where a certain object is meant that is gone: another one must not take its place unnoticed.
 */
export async function createInstead(operation: Operation, insertion: Insertion): Promise<Entry | undefined> {
  const { registry, context, resource } = operation;
  await authorize(registry.authorizer, { ...attributesOf(context.info, context.user), verb: 'create' });
  const { metadata } = insertion.object;
  if ((metadata.uid ?? '') !== '') {
    const why = `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`;
    throw conflict(resource.qualified, context.info.name, why);
  }
  // A version alone does not keep 1.24 from creating, unless it is none.
  objectVersion(metadata.resourceVersion);
  delete metadata.resourceVersion;
  const outcome = await insert(operation, insertion);
  return 'entry' in outcome ? outcome.entry : undefined;
}

export interface Insertion {
  /** Taken over: it is changed. */
  readonly object: Draft<ApiObjectShape>;
  readonly namespace: string;
  readonly options: WriteOptions;
  /** False: the caller has set managedFields itself (server-side apply). */
  readonly trackFields?: boolean;
}

/** Puts a new object through defaults, admission, validation and into the store; 409 as `taken` when its name is taken. */
async function insert(
  operation: Operation,
  insertion: Insertion,
): Promise<{ readonly entry: Entry } | { readonly taken: StatusError }> {
  const { registry, context, resource } = operation;
  const { object, options } = insertion;
  const large = isLarge(context);
  requireNamespace(resource, object, insertion.namespace);
  // Before everything else: selectors and names are made of the UID by some kinds.
  setSystemFields(registry, object);
  dropClusterName(context, object.metadata);
  const { strategy } = resource;
  const asked = strategyContext(registry, context);
  strategy.defaults?.(object, asked, insertion.trackFields === false ? 'applied' : undefined);
  if (large) await betweenSteps(operation);
  const base = object.metadata.generateName ?? '';
  const asksFor = object.metadata.name ?? '';
  const generated = asksFor === '' && base !== '';
  const call = () => ({
    operation: 'CREATE' as const,
    subresource: '',
    namespace: insertion.namespace,
    // The one that was asked for: in 1.24 a generated name is told by the object alone.
    name: asksFor,
    dryRun: options.dryRun,
    object,
  });
  dropRepeatedOwners(context, object, 'received');
  const { trackFields = true } = insertion;
  if (trackFields) {
    const recording = recordManagers(operation, { object, manager: options.fieldManager, subresource: '' });
    if (recording !== undefined) await recording;
  }
  await admitChanges(operation, call());
  dropRepeatedOwners(context, object, 'admitted');
  if (large) await betweenSteps(operation);
  delete object.metadata.deletionTimestamp;
  delete object.metadata.deletionGracePeriodSeconds;
  strategy.prepareForCreate?.(object, asked);
  registry.codec.complete(object);
  if (large) await betweenSteps(operation);
  const tooLarge = tooLargeToFit(context, object, { tracked: trackFields });
  if (large) await betweenSteps(operation);
  // What managers have is shared, and completing the object may change all of it.
  const { managedFields } = object.metadata;
  if (strategy.completeCreate !== undefined && managedFields !== undefined) {
    object.metadata = { ...object.metadata, managedFields: copyJson(managedFields) };
  }
  for (let attempt = 1; ; attempt += 1) {
    if (generated) object.metadata.name = generateName(base, registry.random);
    strategy.completeCreate?.(object, asked);
    if (large) await betweenSteps(operation);
    const begun = beginCreate(registry, resource, object, options.dryRun);
    const undo = begun instanceof Promise ? await begun : begun;
    try {
      const rules = validate(operation, object, asked);
      if (rules !== undefined) await rules;
      if (tooLarge !== undefined) throw tooLarge;
      if (large) await betweenSteps(operation);
      const conditions = await runAdmission('validate', operation, call());
      if (large) await betweenSteps(operation);
      const entry = await writeFitting(object, trackFields, () =>
        write(operation, { object, dryRun: options.dryRun, conditions }),
      );
      if (entry !== undefined) {
        if (options.dryRun) await undoAll(registry, undo);
        return { entry };
      }
    } catch (error) {
      await undoAll(registry, undo);
      throw error;
    }
    await undoAll(registry, undo);
    if (!generated || attempt === nameAttempts) return { taken: taken(resource, object, generated) };
  }
}

interface Write {
  readonly object: ApiObjectShape;
  readonly dryRun: boolean;
  readonly conditions: readonly WriteCondition[];
}

/**
 * Undefined when the name is taken. Throws 500 for an object that has a version already, last of all and not in a dry run, as
 * 1.24 does, whose store finds it.
 */
async function write(operation: Operation, { object, dryRun, conditions }: Write): Promise<Entry | undefined> {
  const { registry, context, resource } = operation;
  const { cancellation: signal } = context;
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name ?? '');
  const made = formOf(resource, object, { request: context, pause: () => betweenSteps(operation) });
  const form = made instanceof Promise ? await made : made;
  const { bytes } = form;
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
  if (entry !== undefined) markCanonical(resource, entry, form);
  return entry;
}

/** Throws 422 for an object that is not valid; a promise where finding out takes a while. */
function validate({ registry, context, resource }: Operation, object: ApiObjectShape, asked: StrategyContext) {
  const { strategy, group, declaration } = resource;
  const check = (failures: readonly FieldFailure[]): undefined => {
    const { name, generateName: base = '' } = object.metadata;
    if (failures.length > 0) {
      throw invalid({ group: declaration.refusedIn ?? group, kind: declaration.kind }, name ?? base, failures);
    }
    for (const text of strategy.warnings?.(object, undefined, asked) ?? []) warn(context, text);
    strategy.canonicalize?.(object, asked);
  };
  const found = strategy.validateCreate?.(object, asked) ?? [];
  return andThen(withRules(registry, strategy, { object, old: undefined, found, asked }), check);
}

function taken(resource: ServedResource, object: ApiObjectShape, generated: boolean): StatusError {
  const error = alreadyExists(resource.qualified, object.metadata.name ?? '');
  if (!generated) return error;
  const message = `${error.message}, the server was not able to generate a unique name for the object`;
  return new StatusError({ ...error.status, message, details: { ...error.status.details, retryAfterSeconds: 1 } });
}

/** The object's namespace becomes the request's; 400 when it names another one. */
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
