/** Keys of API servers below the objects' prefix, with release 1.24's names. */

/** Written to advance watches when writes elsewhere increase etcd's revision. */
export const progressKey = '/watch-progress';
/**
 * Coordinates compaction. Below the prefix, so that its write is an event like others, and watches stay complete
 * without queries.
 */
export const compactionKey = '/compact_rev_key';
/** Addresses of running API servers, each with a lease. */
export const serverLeases = '/masterleases/';

/** @param path The key after the prefix, with its slash. */
export function isOwnKey(path: string): boolean {
  return path === progressKey || path === compactionKey || path.startsWith(serverLeases);
}
