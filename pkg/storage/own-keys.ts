/** Keys below the prefix of all objects that hold none: what API servers keep for themselves, as release 1.24 names it. */

/** Written only to move watches along when writes elsewhere moved etcd's revision. */
export const progressKey = '/watch-progress';
/**
 * Says which API server compacts next. Below the prefix on purpose: its write is an event like any other, so watches stay
 * complete without further questions.
 */
export const compactionKey = '/compact_rev_key';
/** Addresses of the API servers that run, each with a lease. */
export const serverLeases = '/masterleases/';

/** @param path Key behind the prefix, with its slash. */
export function isOwnKey(path: string): boolean {
  return path === progressKey || path === compactionKey || path.startsWith(serverLeases);
}
