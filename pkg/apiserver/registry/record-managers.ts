/**
 * Who manages what, as 1.24 finds it out: from the object as the request makes it, before admission and the strategy
 * change it. What they set later on has no manager.
 */

import type { ApiObjectShape, OwnMetadata } from '#api/meta/object.js';
import { entriesFault } from '#apimachinery/apply/managers.js';
import type { MaybePromise } from '#apimachinery/async/maybe-promise.js';
import type { Pause } from '#apimachinery/async/steps.js';
import { storedForm } from '#apimachinery/codec/json/empties.js';
import type { Draft } from '#apimachinery/draft.js';
import type { StatusError } from '#apimachinery/errors/status.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import { type MutatingCall, runAdmission } from '#apiserver/registry/admit.js';
import type { ManagedWrite } from '#apiserver/registry/managed-fields.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { tooLargeToStore } from '#apiserver/registry/stored-size.js';
import type { Entry } from '#storage/resource-storage.js';

export interface RecordedWrite extends Pick<ManagedWrite, 'object' | 'old' | 'manager' | 'subresource'> {
  /** Where the old object comes from. */
  readonly stored?: Entry;
}

/**
 * Sets the managedFields of an object that a request has made. None where the object is too large to be stored with them;
 * 1.24 learns of it from its store, and leaves them out then.
 */
export function recordManagers(
  { registry, context, resource }: Operation,
  { stored, ...recorded }: RecordedWrite,
  pause: Pause,
): MaybePromise<void> {
  const { object, old } = recorded;
  const sized = { ...(stored && { stored }), ...(old === undefined && { managedAs: resource.type }) };
  if (tooLargeToStore(context, object, sized) !== undefined) {
    delete object.metadata.managedFields;
    return undefined;
  }
  const write = { context, resource, ...recorded, object: storedForm(resource.type, object) };
  return registry.managedFields.written(write, pause);
}

/** Lets admission change the object. What webhooks make of managedFields counts only where it is well-formed. */
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

/** 413 for an object that no store takes, from which its managers are removed where it is too large with them. */
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
