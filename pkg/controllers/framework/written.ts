/**
 * What a controller wrote, until its caches show it. A cache that lags behind a write shows a state that the controller
 * itself has already changed: acting on that state would do the same thing twice, or undo it.
 *
 * Unlike expectations, which count creations and deletions of one kind, this covers every write (of the owner, its
 * status, its pods, its revisions, adoptions), and needs no event handler: each cache knows the version up to which it
 * is current.
 */
import type { Clock } from '#apimachinery/clock.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';

/** The part of a cache that shows how current it is. */
export type VersionedCache = Pick<Informer<ApiObject>, 'get' | 'lastVersion'>;

/** Reads from the server the objects that a write may have created. */
export type Ask = () => Promise<readonly ApiObject[]>;

interface Awaited {
  /** The newest version written, by the cache that has to reach it. */
  readonly versions: Map<VersionedCache, string>;
  /** Keys of deleted objects by UID: the answer to a deletion has no version. */
  readonly deleted: Map<VersionedCache, Map<string, string>>;
  /** Questions that must be answered before the key is reconciled, and whether each is being asked. */
  readonly unclear: Map<VersionedCache, { readonly ask: Ask; isAsking: boolean }>;
  sinceMs: number;
  /** How often the caches were found to lag since the last write. */
  polls: number;
}

/**
 * A write is no longer waited for after five minutes, like expectations in 1.24: a store that was restored from a
 * backup may never reach the version again.
 */
export const writtenTimeoutMs = 300_000;

/** The pause between polls doubles from the first to the last of these. */
const pollMs = { first: 10, last: 1000 };

export class WrittenObjects {
  readonly #clock: Clock;
  /** By the key that was reconciled. An entry is removed once the caches have caught up with it. */
  readonly #byKey = new Map<string, Awaited>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `object` is the answer to a creation, an update or a patch; `cache` is where it will be seen. */
  wrote(key: string, cache: VersionedCache, object: ApiObject): void {
    const version = object.metadata.resourceVersion;
    if (version === undefined) return;
    const { versions } = this.#of(key);
    const known = versions.get(cache);
    if (known === undefined || isOlder(known, version)) versions.set(cache, version);
  }

  /** `object` was deleted, or the server answered that it no longer exists. */
  deleted(key: string, cache: VersionedCache, object: ApiObject): void {
    const { deleted } = this.#of(key);
    const uids = deleted.get(cache) ?? new Map<string, string>();
    deleted.set(cache, uids.set(object.metadata.uid ?? '', keyOf(object)));
  }

  /**
   * It is not known whether a creation succeeded. The key waits until `ask`, which is retried until it succeeds, has
   * found what was created, and until `cache` shows that. For objects whose names the server generates: creating again
   * would leave one too many.
   */
  unclear(key: string, cache: VersionedCache, ask: Ask): void {
    this.#of(key).unclear.set(cache, { ask, isAsking: false });
  }

  /** Zero when the caches show all that was written for the key; else the milliseconds after which to look again. */
  waitMs(key: string): number {
    const awaited = this.#byKey.get(key);
    if (awaited === undefined) return 0;
    const waitMs = awaited.sinceMs + writtenTimeoutMs - this.#clock.monotonic();
    for (const [cache, question] of awaited.unclear) {
      if (question.isAsking) continue;
      question.isAsking = true;
      question.ask().then(
        (objects) => {
          if (awaited.unclear.get(cache) === question) awaited.unclear.delete(cache);
          for (const object of objects) this.wrote(key, cache, object);
        },
        // The next poll asks again.
        () => {
          question.isAsking = false;
        },
      );
    }
    if (waitMs > 0 && !isSeen(awaited)) {
      awaited.polls += 1;
      return Math.min(waitMs, pollMs.last, pollMs.first * 2 ** (awaited.polls - 1));
    }
    this.#byKey.delete(key);
    return 0;
  }

  #of(key: string): Awaited {
    let awaited = this.#byKey.get(key);
    if (awaited === undefined) {
      awaited = { versions: new Map(), deleted: new Map(), unclear: new Map(), sinceMs: 0, polls: 0 };
      this.#byKey.set(key, awaited);
    }
    awaited.sinceMs = this.#clock.monotonic();
    awaited.polls = 0;
    return awaited;
  }
}

/** Drops what the caches show; true when nothing is left. */
function isSeen({ versions, deleted, unclear }: Awaited): boolean {
  for (const [cache, version] of versions) if (!isOlder(cache.lastVersion, version)) versions.delete(cache);
  for (const [cache, uids] of deleted) {
    for (const [uid, key] of uids) if (!isThere(cache, key, uid)) uids.delete(uid);
    if (uids.size === 0) deleted.delete(cache);
  }
  return versions.size === 0 && deleted.size === 0 && unclear.size === 0;
}

function isThere(cache: VersionedCache, key: string, uid: string): boolean {
  const object = cache.get(key);
  return object?.metadata.uid === uid && object.metadata.deletionTimestamp === undefined;
}

/** Versions are decimal numbers of up to 64 bits, without leading zeros; the empty one is older than all. */
export function isOlder(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}
