/** Keys of objects in caches and work queues: `namespace/name`, or `name` for cluster-scoped objects. */

export interface Named {
  readonly metadata: { readonly namespace?: string | undefined; readonly name?: string | undefined };
}

export function keyOf({ metadata }: Named): string {
  return keyFor(metadata.namespace, metadata.name ?? '');
}

export function keyFor(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** The parts of a key; the namespace of a cluster-scoped object is empty. */
export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
