/** What storage versions say once servers that are gone are left out. Pure. */
import { withServers } from '#api/apiserverinternal/v1alpha1/storageversion/agreement.js';
import type { StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';

/**
 * `delete` when no server is left; undefined when none is gone; else the object with what the others agree on. `now` in
 * milliseconds.
 */
export function withoutGoneServers(
  object: StorageVersion,
  isThere: (server: string) => boolean,
  now: number,
): StorageVersion | 'delete' | undefined {
  const servers = object.status?.storageVersions ?? [];
  const left = servers.filter(({ apiServerID }) => isThere(apiServerID ?? ''));
  if (left.length === servers.length) return undefined;
  return left.length === 0 ? 'delete' : withServers(object, left, now);
}
