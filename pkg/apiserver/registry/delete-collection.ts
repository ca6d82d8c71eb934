import type { ApiObjectShape } from '#api/meta/object.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { remove } from '#apiserver/registry/delete.js';
import { type DeleteOptions, deleteOptionsFor } from '#apiserver/registry/delete-options.js';
import { listResponse, negotiateList } from '#apiserver/registry/list.js';
import { listRequest } from '#apiserver/registry/list-options.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { requireUnprotectedEntries } from '#apiserver/registry/protection.js';
import { selection } from '#apiserver/registry/selectors.js';
import { scopeOf } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** DELETE of a collection: deletes the objects that the selectors matched when the request came. */
export async function deleteCollection(operation: Operation): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const { query, namespace } = context.info;
  const form = negotiateList(operation);
  const options = await deleteOptionsFor(operation);
  const match = selection(resource, context.info);
  const { version, limit, token } = listRequest(registry.dialect, query, {
    scope: scopeOf(resource, namespace),
    uncached: registry.settings.isUncached(resource),
    paged: registry.gate('APIListChunking'),
  });
  const result = await resource.storage.list({
    scope: scopeOf(resource, namespace),
    version,
    limit,
    signal: context.signal,
    ...(token === undefined ? {} : { startKey: token.startKey }),
    ...(match === undefined ? {} : { match }),
  });
  await requireUnprotectedEntries(operation, result.entries);
  await removeAll(operation, { entries: result.entries, options });
  if (resource.strategy.collectionDeletionAnswer !== 'status')
    return listResponse(operation, { result, form, whole: false });
  const details = { ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.declaration.resource };
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
  return registry.responder.object(context, status);
}

async function removeAll(
  operation: Operation,
  { entries, options }: { entries: readonly Entry[]; options: DeleteOptions },
): Promise<void> {
  const waiting = entries.values();
  const worker = async () => {
    for (const entry of waiting) {
      const { name = '', namespace = '' } = (entry.object() as ApiObjectShape).metadata;
      try {
        await remove(operation, { name: { namespace, name }, options });
      } catch (error) {
        // The object is already gone.
        if (!isNotFound(error)) throw error;
      }
    }
  };
  await Promise.all(
    Array.from({ length: Math.min(operation.registry.settings.deleteWorkers, entries.length) }, worker),
  );
}
