/** Informers for a daemon without an API server: they are empty, and every request fails. */

import type { Dialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, ResourceClient } from '#client/client.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';

/** Rejects every request with 503 ServiceUnavailable. */
function unconfiguredClient(dialect: Dialect): Client {
  const fail = async (): Promise<never> => {
    throw serviceUnavailable('no client of the API is configured');
  };
  const resource: ResourceClient<ApiObject> = {
    ...{ get: fail, list: fail, create: fail, update: fail, updateStatus: fail, patch: fail },
    ...{ delete: fail, deleteCollection: fail, createSubresource: fail },
    watch: () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }),
  };
  return {
    dialect,
    resource: <T extends ApiObject>(_: ResourceType<T>) => resource as unknown as ResourceClient<T>,
    request: fail,
    close: async () => undefined,
  };
}

/** Informers that have synced and are empty. */
export function emptyInformers(dialect: Dialect): InformerFactory {
  const empty: Informer<ApiObject> = {
    get: () => undefined,
    list: () => [],
    byIndex: () => [],
    size: 0,
    addHandler: () => () => undefined,
    addIndexers: () => undefined,
    hasSynced: () => true,
    whenSynced: async () => undefined,
    lastVersion: '',
  };
  return {
    client: unconfiguredClient(dialect),
    informer: <T extends ApiObject>() => empty as unknown as Informer<T>,
    existing: () => undefined,
    start: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      }),
    waitForSync: async () => undefined,
  };
}
