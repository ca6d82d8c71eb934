/**
 * Cached objects of one resource, as bytes: the interface that the API server's registry reads and writes. The watch
 * cache implements it over a `Store`.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Guard, Revision } from '#storage/store.js';

/** Bytes in any form, for callers that copy them. A Buffer is one. */
export interface EntryBytes {
  readonly length: number;
  /** Copies bytes after the first `from` to `target` at `at`, as far as there is room; returns their number. */
  copy(target: Buffer, at: number, from?: number): number;
}

/** One version of an object. Immutable; its results are shared. */
export interface Entry {
  /** Key in the store: `/registry/pods/default/web-0`. */
  readonly key: string;
  /** The object's resourceVersion. */
  readonly revision: Revision;
  /** Stored JSON, without metadata.resourceVersion. May be created at each use. */
  readonly stored: Buffer;
  /** Length of `json()`. */
  readonly size: number;
  /** True if new values have another stored form, so that even an unchanged update is worth writing. */
  readonly stale?: boolean;
  /** Set by this server's registry on its own writes: the object is canonical and complete. */
  canonical?: boolean;
  /** Served JSON with metadata.resourceVersion, in one buffer, for reading. */
  json(): Buffer;
  /** The same bytes in compact form, for forwarding. */
  jsonBytes(): EntryBytes;
  /** `json()` followed by a line feed, as responses end. */
  line(): Buffer;
  /** The parsed object with metadata.resourceVersion; shared, read-only, and cached for a while. */
  object(): unknown;
  /** The object, possibly without its kind's bulk fields, for scans over all objects of a kind. Read-only, too. */
  outline(): unknown;
  /** Another encoding, created once per entry by `make` and cached under `name` for the entry's lifetime. */
  encoded(name: string, make: (entry: Entry) => Buffer): Buffer;
  /** The same encoding in compact form, for forwarding. */
  encodedBytes(name: string, make: (entry: Entry) => Buffer): EntryBytes;
  /** Whether an encoding is cached under the name. */
  keeps(name: string): boolean;
  /**
   * Data for selectors and authorization, extracted once by `make` and kept as long as the entry (unlike `object()`,
   * which may be parsed again). All callers of a resource pass the same function.
   */
  attributes<T>(make: (entry: Entry) => T): T;
}

/** Which data a read may return (specification 1, 4.6). */
export type ReadVersion =
  /** Consistent with the store at the time of the call. */
  | { readonly kind: 'latest' }
  /** Any cached data. */
  | { readonly kind: 'any' }
  /** At least as new; waits briefly, then throws 504 `Too large resource version`. */
  | { readonly kind: 'notOlderThan'; readonly revision: Revision }
  /** Exactly that revision; throws 410 `Expired` if compacted. */
  | { readonly kind: 'exact'; readonly revision: Revision };

export interface ListOptions {
  /** Key prefix below the resource's: empty for all, `default/` for a namespace. */
  readonly scope: string;
  readonly version: ReadVersion;
  /** Limit of entries; absent or 0: all. */
  readonly limit?: number;
  /** First key below the resource's prefix, inclusive; from a continue token. */
  readonly startKey?: string;
  /** Filters entries; absent: all. */
  readonly match?: (entry: Entry) => boolean;
  /**
   * Filters by the first segment of keys below the prefix: the namespace, or the name of objects without one. Called once
   * per segment, so that the objects of others are not visited. Absent: all.
   */
  readonly admits?: ((segment: string) => boolean) | undefined;
  readonly signal?: Cancellation;
}

export interface ListResult {
  readonly entries: readonly Entry[];
  /** Version of the collection. */
  readonly revision: Revision;
  /** Start of the next page, below the resource's prefix; absent at the end. */
  readonly nextKey?: string;
  /** Entries after this page; absent with a filter or at the end. */
  readonly remaining?: number;
}

export type ResourceEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly entry: Entry; readonly revision: Revision }
  | { readonly type: 'BOOKMARK'; readonly revision: Revision; readonly initialEventsEnd?: true };

/** A field that all selected entries have with one value, so that other entries need not be tested. */
export interface Only {
  /** Name of the field; watches of a resource with equal names pass equivalent functions. */
  readonly field: string;
  readonly read: (entry: Entry) => string;
  readonly value: string;
}

export interface ResourceWatchOptions {
  readonly scope: string;
  /** `latest` and `any` start with synthetic ADDED events; `exact` starts after the revision. */
  readonly version: ReadVersion;
  readonly match?: (entry: Entry) => boolean;
  /** A field's value that `match` implies; it selects watches without calling `match`. */
  readonly only?: Only;
  /** Name of the selection; equal names of a resource select the same entries. */
  readonly selection?: string;
  /** Send BOOKMARK events. */
  readonly bookmarks: boolean;
  /** Start with the current state as ADDED events, ended by a marked bookmark (`sendInitialEvents`). */
  readonly sendInitialEvents?: boolean;
  readonly signal: Cancellation;
}

/** Receives the events of a watch. */
export interface WatchListener {
  /**
   * A batch, possibly empty. `beginning`: part of the initial events, which only this watch may have. Returns false to
   * pause until `resume`. Never throws.
   */
  events(batch: readonly ResourceEvent[], beginning: boolean): boolean;
  /** Called once, when all initial events are passed; absent: it does not matter. Never throws. */
  begun?(): void;
  /** Called once, at the end, with the error that iteration would have thrown. Never throws. */
  ended(failure?: { readonly error: unknown }): void;
}

/** A watch that passes its events to a listener. */
export interface FollowedWatch {
  /** Resolves when the watch is established; rejects as its iteration would (410, 429, 504). Optional. */
  opened(): Promise<void>;
  /**
   * Passes batches to a listener instead of iterating, which would cost several promises per batch and memory per
   * watch. Call once.
   */
  follow(listener: WatchListener): void;
  /** Continues after the listener returned false. */
  resume(): void;
  /** Requests a bookmark soon, outside the `bookmarks` schedule, such as before the time of a request ends. */
  requestBookmark(): void;
}

export interface ResourceWatch extends FollowedWatch, AsyncIterable<readonly ResourceEvent[]> {}

/** A condition on other keys for a write. */
export interface WriteCondition {
  /** The guards of the write; `failed` are previous guards that did not hold. Rejects if the write must not happen. */
  guards(failed: readonly Guard[] | undefined, signal: Cancellation | undefined): Promise<readonly Guard[]>;
  /**
   * Called once after the write, even if `guards` rejected or was not called: with the revision, or undefined if the
   * write did not happen, its outcome is unknown, or the guards' values have other revisions.
   */
  settled?(revision: Revision | undefined): void;
}

/** An update that happens in the transaction of another write. */
export interface CompanionUpdate {
  /** Guard for that write. */
  readonly guard: Guard;
  /** Called after the write; returns the new version. */
  written(revision: Revision): Entry;
}

export interface ConditionalOptions {
  readonly conditions?: readonly WriteCondition[];
  readonly signal?: Cancellation;
}

export interface PutOptions extends ConditionalOptions {
  /** Lifetime of the object in seconds, approximately. */
  readonly ttlSeconds?: number;
}

export interface ResourceStorage {
  /** The resource's key prefix: `/registry/pods/`. */
  readonly prefix: string;
  /** True once the cache is filled; earlier reads wait briefly, then throw 429 with Retry-After. */
  ready(): boolean;
  /** Resolves when the cache is filled. */
  waitReady(signal?: AbortSignal): Promise<void>;
  /** `key` is below the prefix (`default/web-0`). Undefined if absent. */
  get(key: string, version: ReadVersion, signal?: Cancellation): Promise<Entry | undefined>;
  list(options: ListOptions): Promise<ListResult>;
  /** The cached entry without waiting; only if `ready`. Throws 500 for an unreadable object. */
  cached(key: string): Entry | undefined;
  /** All cached entries of a scope without waiting; only if `ready`. */
  cachedIn(scope: string): readonly Entry[];
  /**
   * Batches of events. Throws 410 `Expired` before the first batch if the version is older than the kept history. Ends
   * when the signal aborts; throws when the consumer falls behind its buffer.
   */
  watch(options: ResourceWatchOptions): ResourceWatch;
  /** Creates an object; undefined if the key exists. */
  create(key: string, stored: Buffer, options?: PutOptions): Promise<Entry | undefined>;
  /** Replaces the object if its revision is `expected`; otherwise returns the current one (undefined if deleted). */
  update(key: string, stored: Buffer, expected: Revision, options?: PutOptions): Promise<ConditionalResult>;
  /** Prepares the same update for the transaction of another resource's write. */
  companionUpdate(key: string, stored: Buffer, expected: Revision): MaybePromise<CompanionUpdate>;
  /** Deletes the object if its revision is `expected`. */
  delete(key: string, expected: Revision, options?: ConditionalOptions): Promise<ConditionalResult>;
}

export type ConditionalResult =
  /** Written. `entry` is the new version; after a delete, the last one at the revision of the deletion. */
  { readonly ok: true; readonly entry: Entry } | { readonly ok: false; readonly current: Entry | undefined };
