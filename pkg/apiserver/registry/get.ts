import { notFound } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { entryResponse, negotiateObject } from '#apiserver/registry/entry-response.js';
import { getVersion } from '#apiserver/registry/list-options.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { keyOf, type ServedResource } from '#apiserver/registry/served-resource.js';
import type { Entry, ReadVersion } from '#storage/resource-storage.js';

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** GET of one object. */
export async function getObject(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
): Promise<ApiResponse> {
  const form = negotiateObject(registry, context, resource);
  const version = getVersion(context.info.query);
  // Without the request's signal, which is not free: what a get waits for is shared with others, and is not long.
  const entry = await readEntry(resource, context.info, version, undefined);
  return entryResponse(registry, context, { resource, entry, form });
}

/** The stored object; throws 404 where there is none. */
export async function readEntry(
  resource: ServedResource,
  { namespace, name }: ObjectName,
  version: ReadVersion,
  signal: AbortSignal | undefined,
): Promise<Entry> {
  const entry = await resource.storage.get(keyOf(resource, namespace, name), version, signal);
  if (entry === undefined) throw notFound(resource.qualified, name);
  return entry;
}
