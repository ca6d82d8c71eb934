/** A client that sometimes performs a write but throws, as when a connection breaks. */
import { serverTimeout } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, ResourceClient } from '#client/client.js';

/** `lose` is called after each write. */
export function losingResponses(client: Client, lose: () => boolean): Client {
  const maybeLost = async <R>(write: Promise<R>, resource: string): Promise<R> => {
    const response = await write;
    if (lose()) throw serverTimeout({ group: '', resource }, 'write', 0);
    return response;
  };
  const losing = <T extends ApiObject>(type: ResourceType<T>): ResourceClient<T> => {
    const inner = client.resource(type);
    const { resource } = type;
    return {
      get: (...args) => inner.get(...args),
      list: (...args) => inner.list(...args),
      watch: (...args) => inner.watch(...args),
      create: (...args) => maybeLost(inner.create(...args), resource),
      update: (...args) => maybeLost(inner.update(...args), resource),
      updateStatus: (...args) => maybeLost(inner.updateStatus(...args), resource),
      patch: (...args) => maybeLost(inner.patch(...args), resource),
      delete: (...args) => maybeLost(inner.delete(...args), resource),
      deleteCollection: (...args) => maybeLost(inner.deleteCollection(...args), resource),
      createSubresource: (...args) => inner.createSubresource(...args),
    };
  };
  return {
    dialect: client.dialect,
    resource: losing,
    request: (...args) => client.request(...args),
    close: () => client.close(),
  };
}
