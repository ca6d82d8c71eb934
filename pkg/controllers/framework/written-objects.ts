/**
 * Tracks a controller's writes until its caches show them. Acting on a cache that lags behind a write would repeat or
 * undo the write.
 *
 * Expectations in 1.24 count creations and deletions of one kind. This class covers every write (owners, status, pods,
 * revisions, adoptions) and needs no event handler, because each cache knows its resource version.
 */
import type { Clock } from '#apimachinery/clock.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';

export type VersionedCache = Pick<Informer<ApiObject>, 'get' | 'lastVersion'>;

/** Reads the objects that a write may have created from the server. */
export type ReadCreated = () => Promise<readonly ApiObject[]>;

interface PendingWrites {
  /** The newest written version that the cache must reach. */
  readonly versions: Map<VersionedCache, string>;
  /** Keys of deleted objects by UID, because the response to a deletion has no version. */
  readonly deleted: Map<VersionedCache, Map<string, string>>;
  /** Reads that must succeed before the key is reconciled. */
  readonly unclear: Map<VersionedCache, { readonly read: ReadCreated; isReading: boolean }>;
  sinceMs: number;
  /** The number of polls since the last write. */
  polls: number;
}

/** The timeout of expectations in 1.24. A store restored from a backup may never reach a written version. */
export const writtenTimeoutMs = 300_000;

/** Pauses between polls double from `first` to `last`. */
const pollMs = { first: 10, last: 1000 };

export class WrittenObjects {
  readonly #clock: Clock;
  /** By reconciled key. An entry is removed when the caches show all its writes. */
  readonly #byKey = new Map<string, PendingWrites>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `object` is the response to a create, update or patch; `cache` will show it. */
  wrote(key: string, cache: VersionedCache, object: ApiObject): void {
    const version = object.metadata.resourceVersion;
    if (version === undefined) return;
    const { versions } = this.#pendingFor(key);
    const newest = versions.get(cache);
    if (newest === undefined || isOlder(newest, version)) versions.set(cache, version);
  }

  /** `object` was deleted or no longer exists. */
  deleted(key: string, cache: VersionedCache, object: ApiObject): void {
    const { deleted } = this.#pendingFor(key);
    const uids = deleted.get(cache) ?? new Map<string, string>();
    deleted.set(cache, uids.set(object.metadata.uid ?? '', keyOf(object)));
  }

  /**
   * A create had no clear result. The key waits until `read`, which is retried, succeeds and `cache` shows the objects
   * that it returns. Needed for generated names, where a second create would add another object.
   */
  unclear(key: string, cache: VersionedCache, read: ReadCreated): void {
    this.#pendingFor(key).unclear.set(cache, { read, isReading: false });
  }

  /** Zero when the caches show all writes for the key; otherwise the milliseconds until the next poll. */
  waitMs(key: string): number {
    const pending = this.#byKey.get(key);
    if (pending === undefined) return 0;
    const waitMs = pending.sinceMs + writtenTimeoutMs - this.#clock.monotonic();
    for (const [cache, lookup] of pending.unclear) {
      if (lookup.isReading) continue;
      lookup.isReading = true;
      lookup.read().then(
        (objects) => {
          if (pending.unclear.get(cache) === lookup) pending.unclear.delete(cache);
          for (const object of objects) this.wrote(key, cache, object);
        },
        // The next poll reads again.
        () => {
          lookup.isReading = false;
        },
      );
    }
    if (waitMs > 0 && !dropSeen(pending)) {
      pending.polls += 1;
      return Math.min(waitMs, pollMs.last, pollMs.first * 2 ** (pending.polls - 1));
    }
    this.#byKey.delete(key);
    return 0;
  }

  #pendingFor(key: string): PendingWrites {
    let pending = this.#byKey.get(key);
    if (pending === undefined) {
      pending = { versions: new Map(), deleted: new Map(), unclear: new Map(), sinceMs: 0, polls: 0 };
      this.#byKey.set(key, pending);
    }
    pending.sinceMs = this.#clock.monotonic();
    pending.polls = 0;
    return pending;
  }
}

/** Drops the writes that the caches show. True if none is left. */
function dropSeen({ versions, deleted, unclear }: PendingWrites): boolean {
  for (const [cache, version] of versions) if (!isOlder(cache.lastVersion, version)) versions.delete(cache);
  for (const [cache, uids] of deleted) {
    for (const [uid, key] of uids) if (!isInCache(cache, key, uid)) uids.delete(uid);
    if (uids.size === 0) deleted.delete(cache);
  }
  return versions.size === 0 && deleted.size === 0 && unclear.size === 0;
}

function isInCache(cache: VersionedCache, key: string, uid: string): boolean {
  const object = cache.get(key);
  return object?.metadata.uid === uid && object.metadata.deletionTimestamp === undefined;
}

/** Compares decimal numbers of up to 64 bits without leading zeros. The empty version is the oldest. */
export function isOlder(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}
