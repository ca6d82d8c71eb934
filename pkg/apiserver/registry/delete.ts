import type { ApiObjectShape } from '#api/meta/object.js';
import { inSteps } from '#apimachinery/async/steps.js';
import { badRequest, conflict, type Status } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { runAdmission } from '#apiserver/registry/admit.js';
import { type DeleteOptions, deleteOptionsFor } from '#apiserver/registry/delete-options.js';
import { planDeletion } from '#apiserver/registry/deletion-plan.js';
import { annotateSpan, entryResponse, negotiateObject } from '#apiserver/registry/entry-response.js';
import { type ObjectName, readEntry } from '#apiserver/registry/get.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { hasContent, requireUnprotected, requireUnprotectedContent } from '#apiserver/registry/protection.js';
import { failedPrecondition } from '#apiserver/registry/request-errors.js';
import { deleted, leaderCondition } from '#apiserver/registry/write-hooks.js';
import { pauseOf } from '#apiserver/registry/write-steps.js';
import {
  converted,
  encodeForStorage,
  keyOf,
  objectSteps,
  type ServedResource,
  TransientEntry,
} from '#apiserver/resources/served-resource.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';
import type { Entry } from '#storage/resource-storage.js';

/** DELETE of one object. */
export async function deleteObject(operation: Operation): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const form = negotiateObject(operation);
  const options = await deleteOptionsFor(operation);
  const { entry: last, removed, answer } = await remove(operation, { name: context.info, options });
  if (!removed || resource.strategy.deletionAnswer === 'object') {
    // 1.24 answers 202 only to `orphanDependents=false`, the oldest way to request foreground deletion.
    const status = !removed && options.orphanDependents === false ? 202 : 200;
    const entry = answer === undefined ? last : await transient(operation, last, answer);
    return entryResponse(operation, { entry, form, status });
  }
  const entry = last;
  annotateSpan(operation, entry);
  // A Status is never transformed, even if the client requests a Table.
  return registry.responder.object(context, successStatus(resource, entry.object() as ApiObjectShape), 200, form);
}

function successStatus(resource: ServedResource, object: ApiObjectShape): Status {
  const { name, uid } = object.metadata;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      ...(name === undefined ? {} : { name }),
      ...(resource.group === '' ? {} : { group: resource.group }),
      kind: resource.declaration.resource,
      ...(uid === undefined ? {} : { uid }),
    },
  };
}

export interface Removal {
  readonly name: ObjectName;
  readonly options: DeleteOptions;
}

export interface Removed {
  /** The last state of a removed object, or the marked object if it still exists. */
  readonly entry: Entry;
  readonly removed: boolean;
  /** The object as the client sees it, if it differs from `entry`. */
  readonly answer?: ApiObjectShape | undefined;
}

/** Deletes as far as finalizers and grace period allow. Throws 404, 409 for failed preconditions, and admission's refusals. */
export async function remove(operation: Operation, { name, options: requested }: Removal): Promise<Removed> {
  const { context, resource } = operation;
  // A negative grace period means one second.
  const options = (requested.gracePeriodSeconds ?? 0) < 0 ? { ...requested, gracePeriodSeconds: 1 } : requested;
  const key = keyOf(resource, name.namespace, name.name);
  let entry = await readEntry(resource, name, { kind: 'latest' }, context.cancellation);
  for (;;) {
    const conversion = converted(resource, [entry], context);
    if (conversion !== undefined) await conversion;
    const object = await inSteps(objectSteps(resource, entry, 'deletion'), pauseOf(operation, entry));
    checkPreconditions(resource, object, options);
    if (object.metadata.annotations !== undefined) requireUnprotected(operation, object);
    if (hasContent(resource)) await requireUnprotectedContent(operation, object);
    const attributes = {
      operation: 'DELETE',
      subresource: '',
      namespace: name.namespace,
      name: name.name,
      dryRun: options.dryRun,
      oldObject: object,
      options,
    } as const;
    await runAdmission('admit', operation, attributes);
    await runAdmission('validate', operation, attributes);
    const outcome = await step(operation, { key, entry, object, options });
    if ('removal' in outcome) return outcome.removal;
    entry = outcome.raced ?? (await readEntry(resource, name, { kind: 'latest' }, context.cancellation));
  }
}

type Step = { readonly removal: Removed } | { readonly raced: Entry | undefined };

async function step(
  operation: Operation,
  { key, entry, object, options }: { key: string; entry: Entry; object: ApiObjectShape; options: DeleteOptions },
): Promise<Step> {
  const { registry, context, resource } = operation;
  const graceSeconds = graceOf(operation, object, options);
  const now = registry.clock.now();
  const plan = planDeletion({
    ...{ resource, object, options, now, graceSeconds },
    dialect: registry.dialect,
    collectsGarbage: registry.settings.collectsGarbage,
  });
  if (plan.action === 'pending') return { removal: { entry, removed: false } };
  const conditions = { signal: context.cancellation, conditions: leaderCondition(registry, context) };
  if (plan.action === 'remove') {
    const { answer } = plan;
    if (options.dryRun) return { removal: { entry, removed: true, answer } };
    const result = await resource.storage.delete(key, entry.revision, conditions);
    if (!result.ok) return { raced: result.current };
    await deleted(registry, resource, object);
    return { removal: { entry: result.entry, removed: true, answer } };
  }
  const marked = resource.strategy.terminating?.(plan.object) ?? plan.object;
  if (options.dryRun) return { removal: { entry: await transient(operation, entry, marked), removed: false } };
  const bytes = await encodeForStorage(resource, marked, { request: context, pause: pauseOf(operation, entry) });
  const result = await resource.storage.update(key, bytes, entry.revision, conditions);
  return result.ok ? { removal: { entry: result.entry, removed: false } } : { raced: result.current };
}

/** In 1.24 the stores of namespaces and definitions check preconditions themselves, with other messages. Throws 409. */
function requireOfStore(
  { qualified }: ServedResource,
  metadata: ApiObjectShape['metadata'],
  { uid, resourceVersion }: NonNullable<DeleteOptions['preconditions']>,
): void {
  const require = (what: string, value: string | undefined, stored: string | undefined) => {
    if (value === undefined || value === stored) return;
    throw conflict(qualified, metadata.name ?? '', failedPrecondition(what, value, stored));
  };
  require('UID', uid, metadata.uid);
  require('ResourceVersion', resourceVersion, metadata.resourceVersion);
}

/** An entry that is only in the response, not in the store. */
async function transient(operation: Operation, entry: Entry, object: ApiObjectShape): Promise<Entry> {
  const { context, resource } = operation;
  const bytes = await encodeForStorage(resource, object, { request: context, pause: pauseOf(operation, entry) });
  return new TransientEntry(entry.key, bytes, entry.revision, resource.stored.type);
}

function graceOf(
  { registry, resource }: Operation,
  object: ApiObjectShape,
  options: DeleteOptions,
): number | bigint | undefined {
  return resource.strategy.defaultGracePeriodSeconds?.(object, options.gracePeriodSeconds, strategyContext(registry));
}

function checkPreconditions(resource: ServedResource, object: ApiObjectShape, { preconditions }: DeleteOptions): void {
  if (preconditions === undefined) return;
  const { uid, resourceVersion } = preconditions;
  const { metadata } = object;
  const name = metadata.name ?? '';
  const { heldBySpec, cleanUp } = resource.strategy;
  if (heldBySpec !== undefined || cleanUp !== undefined) requireOfStore(resource, metadata, preconditions);
  // 1.24 names the kind here instead of the resource.
  const { kind: resourceKind, refusedIn } = resource.declaration;
  const kind = { group: refusedIn ?? resource.group, resource: resourceKind };
  if (uid !== undefined && uid !== metadata.uid) {
    if (uid === '') throw badRequest('the uid of a precondition may not be empty');
    const why =
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). ` +
      'The object might have been deleted and then recreated';
    throw conflict(kind, name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why =
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record ` +
      `(${metadata.resourceVersion}). The object might have been modified`;
    throw conflict(kind, name, why);
  }
}
