import { firstSegment } from '#storage/cache/listing.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

/** The namespaces that have objects in a storage. Throws 500 for an unreadable object. */
export function namespacesIn(storage: Pick<ResourceStorage, 'prefix' | 'ready' | 'cachedIn'>): string[] {
  if (!storage.ready()) return [];
  const all: string[] = [];
  let last: string | undefined;
  for (const { key } of storage.cachedIn('')) {
    if (last !== undefined && key.startsWith(last, storage.prefix.length)) continue;
    const segment = firstSegment(key, storage.prefix);
    all.push(segment);
    last = `${segment}/`;
  }
  return all;
}
