/**
 * What a controller wrote, until its caches show it. A cache that lags behind a write shows a state that the
 * controller itself has changed: acting on it would do the same thing twice, or undo it.
 *
 * Unlike expectations, which count creations and deletions of one kind, this covers every write (of the owner, its
 * status, its pods, its revisions, adoptions), and needs no event handler: a cache says itself up to which version it
 * is current.
 */
import type { Clock } from '#apimachinery/clock.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';

/** The part of a cache that tells how far it has come. */
export type VersionedCache = Pick<Informer<ApiObject>, 'get' | 'lastVersion'>;

/** Reads from the server itself what a write may have made. */
export type Ask = () => Promise<readonly ApiObject[]>;

interface Awaited {
  /** Newest version written, by the cache that is to reach it. */
  readonly versions: Map<VersionedCache, string>;
  /** Key of each deleted object by its UID: the answer of a deletion names no version. */
  readonly deleted: Map<VersionedCache, Map<string, string>>;
  /** What is to be asked before anything else, and whether it is being asked. */
  readonly unclear: Map<VersionedCache, { readonly ask: Ask; isAsking: boolean }>;
  sinceMs: number;
  /** How often it was found not to be there yet, since the last write. */
  polls: number;
}

/**
 * Writes are given up after five minutes, as expectations are in 1.24: a store that was restored from an old copy may
 * never reach the version again.
 */
export const writtenTimeoutMs = 300_000;

/** Pauses between looks double from the first to the last of these. */
const pollMs = { first: 10, last: 1000 };

export class WrittenObjects {
  readonly #clock: Clock;
  /** By the key whose reconcile wrote. Entries go when the caches show them, so that they are as many as the lag. */
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

  /** `object` is one that was deleted, or that the server said was gone. */
  deleted(key: string, cache: VersionedCache, object: ApiObject): void {
    const { deleted } = this.#of(key);
    const uids = deleted.get(cache) ?? new Map<string, string>();
    deleted.set(cache, uids.set(object.metadata.uid ?? '', keyOf(object)));
  }

  /**
   * Whether a write was done is not known. The key waits until `ask`, which is asked until it answers, has told, and
   * until `cache` shows what it told of. For creations under names that the server chooses: done again, they would make
   * one too many.
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
        // It is asked again with the next look.
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
