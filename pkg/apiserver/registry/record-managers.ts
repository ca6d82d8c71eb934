/**
 * Records field managers as 1.24 does: from the object as the request makes it, before admission and the strategy change it.
 * Fields set later have no manager.
 */
import type { ApiObjectShape, OwnMetadata } from '#api/meta/object.js';
import { entriesFault } from '#apimachinery/apply/managers.js';
import { minimumSize } from '#apimachinery/apply/minimum-size.js';
import type { MaybePromise, Pause } from '#apimachinery/async/steps.js';
import { withoutEmpties } from '#apimachinery/codec/json/empty-members.js';
import type { Draft } from '#apimachinery/draft.js';
import { hasReason, requestEntityTooLarge, type StatusError } from '#apimachinery/errors/status.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { type RequestContext, warn } from '#apiserver/http/request-context.js';
import { type MutatingCall, runAdmission } from '#apiserver/registry/admit.js';
import type { ManagedWrite } from '#apiserver/registry/managed-fields.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { applyGate } from '#apiserver/registry/write-request.js';
import { isLarge } from '#apiserver/registry/write-steps.js';
import type { Entry } from '#storage/resource-storage.js';

/**
 * Largest message that 1.24 sends to its store, however etcd is configured (gRPC's `MaxCallSendMsgSize`, 2 MiB in its
 * client); etcd itself takes 1.5 MiB by default.
 */
const maxStoredBytes = 2 * 1024 * 1024;

export interface Sized {
  readonly stored?: Pick<Entry, 'size'>;
  /** The object's type, if all its fields are about to get one manager. */
  readonly managedAs?: TypeInfo;
}

/**
 * Writes an object, like 1.24 without its managers if it is too large for the store with them. Throws the errors of `write`.
 */
export async function writeFitting<T>(
  { metadata }: OwnMetadata,
  tracked: boolean,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!tracked || metadata.managedFields === undefined || !hasReason(error, 'RequestEntityTooLarge')) throw error;
    delete metadata.managedFields;
    return write();
  }
}

/**
 * 413 for an object that is too large for any store, else undefined. Reported only for valid objects, as in 1.24, where the
 * store detects it.
 */
export function tooLargeToStore(
  context: RequestContext,
  object: object,
  { stored, managedAs }: Sized = {},
): StatusError | undefined {
  if (!isLarge(context, stored)) return undefined;
  const bytes = minimumSize(object, maxStoredBytes, managedAs);
  if (bytes <= maxStoredBytes) return undefined;
  // The words of 1.24's etcd client, whose number is exact.
  return requestEntityTooLarge(`grpc: trying to send message larger than max (${bytes} vs. ${maxStoredBytes})`);
}

export interface RecordedWrite extends Pick<ManagedWrite, 'object' | 'old' | 'manager' | 'subresource'> {
  /** The entry of `old`. */
  readonly stored?: Entry;
}

/**
 * Sets the object's managedFields, or none if the feature gate is off or the object is too large to store with them: 1.24 drops
 * them when its store refuses.
 */
export function recordManagers(
  { registry, context, resource }: Operation,
  { stored, ...recorded }: RecordedWrite,
  pause: Pause,
): MaybePromise<void> {
  const { object, old } = recorded;
  const sized = { ...(stored && { stored }), ...(old === undefined && { managedAs: resource.type }) };
  if (!registry.gate(applyGate) || tooLargeToStore(context, object, sized) !== undefined) {
    delete object.metadata.managedFields;
    return undefined;
  }
  const write = { context, resource, ...recorded, object: withoutEmpties(resource.type, object) };
  return registry.managedFields.written(write, pause);
}

/** Runs mutating admission. Malformed managedFields of a webhook are replaced by the former ones, with a warning. */
export async function admitChanges(
  operation: Operation,
  call: MutatingCall & { readonly object: Draft<ApiObjectShape> },
): Promise<void> {
  const { object } = call;
  const { managedFields } = object.metadata;
  await runAdmission('admit', operation, call);
  if (object.metadata.managedFields === managedFields) return;
  const fault = entriesFault(object.metadata.managedFields);
  if (fault === undefined) return;
  if (managedFields === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = managedFields;
  const what = '.metadata.managedFields was in an invalid state after admission';
  const why = 'this could be caused by an outdated mutating admission controller; please fix your requests';
  warn(operation.context, `${what}; ${why}: ${fault}`);
}

/** Removes managedFields in place if the object is too large with them; 413 if it still is. */
export function tooLargeToFit(
  context: RequestContext,
  object: OwnMetadata,
  { tracked, stored }: { readonly tracked: boolean; readonly stored?: Entry },
): StatusError | undefined {
  const sized = stored === undefined ? {} : { stored };
  const tooLarge = tooLargeToStore(context, object, sized);
  if (tooLarge === undefined || !tracked || object.metadata.managedFields === undefined) return tooLarge;
  delete object.metadata.managedFields;
  return tooLargeToStore(context, object, sized);
}
