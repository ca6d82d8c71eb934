/** A client whose writes are sometimes done without an answer that says so, as when a connection breaks. */
import { serverTimeout } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, ResourceClient } from '#client/client.js';

/** `lose`: asked after each write that was done. */
export function losingAnswers(client: Client, lose: () => boolean): Client {
  const answer = async <R>(write: Promise<R>, resource: string): Promise<R> => {
    const done = await write;
    if (lose()) throw serverTimeout({ group: '', resource }, 'write', 0);
    return done;
  };
  const losing = <T extends ApiObject>(type: ResourceType<T>): ResourceClient<T> => {
    const inner = client.resource(type);
    const { resource } = type;
    return {
      get: (...given) => inner.get(...given),
      list: (...given) => inner.list(...given),
      watch: (...given) => inner.watch(...given),
      create: (...given) => answer(inner.create(...given), resource),
      update: (...given) => answer(inner.update(...given), resource),
      updateStatus: (...given) => answer(inner.updateStatus(...given), resource),
      patch: (...given) => answer(inner.patch(...given), resource),
      delete: (...given) => answer(inner.delete(...given), resource),
      deleteCollection: (...given) => answer(inner.deleteCollection(...given), resource),
      createSubresource: (...given) => inner.createSubresource(...given),
    };
  };
  return {
    dialect: client.dialect,
    resource: losing,
    request: (...given) => client.request(...given),
    close: () => client.close(),
  };
}
