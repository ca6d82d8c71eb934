/** Keys of work queues and caches: `namespace/name`, or `name` for cluster-scoped objects. */
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';

export function keyOf(object: { readonly metadata: ObjectMeta }): string {
  return keyFor(object.metadata.namespace, object.metadata.name ?? '');
}

export function keyFor(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
