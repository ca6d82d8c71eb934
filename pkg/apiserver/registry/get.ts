import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import { badRequest, notFound } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { flag } from '#apiserver/http/request-info.js';
import { entryResponse, negotiateObject } from '#apiserver/registry/entry-response.js';
import { getVersion } from '#apiserver/registry/list-options.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { keyOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry, ReadVersion } from '#storage/resource-storage.js';

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

const exportRemoved = 'the export parameter, deprecated since v1.14, is no longer supported';

/** GET of one object. */
export function getObject(operation: Operation): MaybePromise<ApiResponse> {
  const { registry, context, resource } = operation;
  const form = negotiateObject(operation);
  const { query } = context.info;
  if (flag(query, 'export')) throw badRequest(exportRemoved);
  const version = getVersion(query, () => registry.settings.isUncached(resource));
  // Pass no signal: listening to it costs more than the short wait, which other requests share.
  const pending = readEntry(resource, context.info, version, undefined);
  return andThen(pending, (entry) => entryResponse(operation, { entry, form }));
}

/** The stored object; throws 404 if there is none. */
export function readEntry(
  resource: ServedResource,
  { namespace, name }: ObjectName,
  version: ReadVersion,
  signal: Cancellation | undefined,
): MaybePromise<Entry> {
  const { storage } = resource;
  const key = keyOf(resource, namespace, name);
  const requireEntry = (entry: Entry | undefined): Entry => {
    if (entry === undefined) throw notFound(resource.qualified, name);
    return entry;
  };
  if (version.kind === 'any' && storage.ready()) return requireEntry(storage.cached(key));
  return storage.get(key, version, signal).then(requireEntry);
}
