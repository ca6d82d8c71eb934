/**
 * One resource's objects, cached: what the API server's registry reads and writes. Implemented over a `Store` by the
 * watch cache; bytes go in and bytes come out.
 */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Guard, Revision } from '#storage/store.js';

/** Bytes as they are in memory, wherever that is: for who copies them to where they are sent. A Buffer is such. */
export interface EntryBytes {
  readonly length: number;
  /** Copies what comes behind the first `from` bytes to `target` at `at`, as far as there is room; returns how many. */
  copy(target: Buffer, at: number, from?: number): number;
}

/** One version of one object. Immutable: everything it gives out is shared and must not be changed. */
export interface Entry {
  /** Key in the store: `/registry/pods/default/web-0`. */
  readonly key: string;
  /** The object's resourceVersion. */
  readonly revision: Revision;
  /** JSON as stored: without metadata.resourceVersion. May be a copy, made anew at each use. */
  readonly stored: Buffer;
  /** Bytes of `json()`. */
  readonly size: number;
  /** The stored form is not the one that would be written now: an update that changes nothing is worth writing. */
  readonly stale?: boolean;
  /** Set by this server's registry on what it has written itself: the object is canonical and complete. */
  canonical?: boolean;
  /** JSON as served, with metadata.resourceVersion spliced in, in one piece: for who reads it. */
  json(): Buffer;
  /** The same, as it is in memory: for who only passes it on. */
  jsonBytes(): EntryBytes;
  /** `json()` with a line feed behind it, as answers end. */
  line(): Buffer;
  /** The parsed object with metadata.resourceVersion; shared, not to be modified, and kept for a while. */
  object(): unknown;
  /**
   * The object, possibly without what its kind calls its bulk: for who looks at all objects of a kind and needs none of that.
   * Not to be modified either.
   */
  outline(): unknown;
  /** Bytes of another representation, made once per entry by `make` and kept under `name` (bounded by the entry's life). */
  encoded(name: string, make: (entry: Entry) => Buffer): Buffer;
  /** The same, as they are in memory: for who only passes them on. */
  encodedBytes(name: string, make: (entry: Entry) => Buffer): EntryBytes;
  /** Whether something is kept under that name. */
  keeps(name: string): boolean;
  /**
   * What selectors and authorization need of the object, extracted once by `make` and kept as long as the entry (unlike
   * `object()`, which may be dropped and parsed again). All callers of one resource pass the same function.
   */
  attributes<T>(make: (entry: Entry) => T): T;
}

/** Which data a read may return (specification 1, 4.6). */
export type ReadVersion =
  /** Most recent: consistent with the store at the time of the call. */
  | { readonly kind: 'latest' }
  /** Any data that is at hand. */
  | { readonly kind: 'any' }
  /** At least as new; waits a little and throws 504 `Too large resource version`. */
  | { readonly kind: 'notOlderThan'; readonly revision: Revision }
  /** Data at exactly that revision; throws 410 `Expired` when compacted. */
  | { readonly kind: 'exact'; readonly revision: Revision };

export interface ListOptions {
  /** Key prefix below the resource's own: `` for all, `default/` for a namespace. */
  readonly scope: string;
  readonly version: ReadVersion;
  /** At most that many entries; absent or 0 = all. */
  readonly limit?: number;
  /** Key (below the resource's prefix) to start from, inclusive: from a continue token. */
  readonly startKey?: string;
  /** Selects entries; absent = all. */
  readonly match?: (entry: Entry) => boolean;
  readonly signal?: Cancellation;
}

export interface ListResult {
  readonly entries: readonly Entry[];
  /** The version of the collection. */
  readonly revision: Revision;
  /** Where the next page starts (below the resource's prefix); absent at the end. */
  readonly nextKey?: string;
  /** Entries behind this page; absent when a match was given or at the end. */
  readonly remaining?: number;
}

export type ResourceEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly entry: Entry; readonly revision: Revision }
  | { readonly type: 'BOOKMARK'; readonly revision: Revision; readonly initialEventsEnd?: true };

/** A selection of entries that have one value of a field: which others it leaves out is known without asking. */
export interface Only {
  /** Names the field; all watches of one resource that name the same one pass equivalent functions. */
  readonly field: string;
  readonly read: (entry: Entry) => string;
  readonly value: string;
}

export interface ResourceWatchOptions {
  readonly scope: string;
  /** `latest` / `any`: synthetic ADDED events first; `exact`: events after that revision only. */
  readonly version: ReadVersion;
  readonly match?: (entry: Entry) => boolean;
  /** Some of what `match` says, by which the watch is found without calling it. */
  readonly only?: Only;
  /** Names what `match` selects; watches of the resource with the same name select the same. */
  readonly selection?: string;
  /** Send BOOKMARK events. */
  readonly bookmarks: boolean;
  /** Begin with the current state as ADDED events and close it with a marked bookmark (`sendInitialEvents`). */
  readonly sendInitialEvents?: boolean;
  readonly signal: Cancellation;
}

/** Who is handed the events of a watch as they come. */
export interface WatchListener {
  /**
   * A batch, which may be empty. `beginning`: of what the watch begins with, which may be known to it alone. False: no more
   * of them before the watch is told to `resume`. Never throws.
   */
  events(batch: readonly ResourceEvent[], beginning: boolean): boolean;
  /** Called once, last; with the error that iterating would have thrown, if any. Never throws. */
  ended(failure?: { readonly error: unknown }): void;
}

export interface ResourceWatch extends AsyncIterable<readonly ResourceEvent[]> {
  /**
   * Resolves when the watch stands and its events will come; rejects as its iteration would (410, 429, 504). Calling it is
   * optional.
   */
  opened(): Promise<void>;
  /**
   * Hands the batches to a listener, instead of being iterated, which takes several promises for each and memory of its own
   * for each watch. Once.
   */
  follow(listener: WatchListener): void;
  /** The listener takes events again; only after it has said that it does not. */
  resume(): void;
  /** Asks for one bookmark soon, even without `bookmarks`' schedule: for the end of a request's time. */
  requestBookmark(): void;
}

/** What must hold elsewhere in the store, at the moment of a write, for it to happen. */
export interface WriteCondition {
  /**
   * The guards to write under; `failed` are those of the ones given before that did not hold: something there has changed.
   * Rejects when the write must not happen any more.
   */
  guards(failed: readonly Guard[] | undefined, signal: Cancellation | undefined): Promise<readonly Guard[]>;
  /**
   * Called once when the write is over, also where `guards` rejected or was not called: the revision, undefined where it did
   * not happen, where nobody knows, or where what the guards put has revisions of its own.
   */
  settled?(revision: Revision | undefined): void;
}

/** An update that happens together with somebody else's write, or not at all. */
export interface CompanionUpdate {
  /** To be among that write's guards. */
  readonly guard: Guard;
  /** To be called when the write has happened; gives the new version. */
  written(revision: Revision): Entry;
}

export interface ConditionalOptions {
  readonly conditions?: readonly WriteCondition[];
  readonly signal?: Cancellation;
}

export interface PutOptions extends ConditionalOptions {
  /** The object goes away by itself about this many seconds later. */
  readonly ttlSeconds?: number;
}

export interface ResourceStorage {
  /** The resource's key prefix: `/registry/pods/`. */
  readonly prefix: string;
  /** True once the cache holds the resource; reads of an unfilled cache wait a little, then throw 429 with Retry-After. */
  ready(): boolean;
  /** Resolves when the cache is filled. */
  waitReady(signal?: AbortSignal): Promise<void>;
  /** `key` is below the prefix (`default/web-0`). Undefined when there is none. */
  get(key: string, version: ReadVersion, signal?: Cancellation): Promise<Entry | undefined>;
  list(options: ListOptions): Promise<ListResult>;
  /** What `get` gives for any version, without waiting; to be asked only when `ready`. Throws 500 for an unreadable object. */
  cached(key: string): Entry | undefined;
  /** All of a scope, as `list` gives it for any version, without waiting; likewise. */
  cachedIn(scope: string): readonly Entry[];
  /**
   * Batches of events. Throws 410 `Expired` (before the first batch) for a version older than the kept history. Ends
   * when the signal aborts; throws when the consumer falls behind its bounded buffer.
   */
  watch(options: ResourceWatchOptions): ResourceWatch;
  /** Writes a new object; undefined when the key exists already. */
  create(key: string, stored: Buffer, options?: PutOptions): Promise<Entry | undefined>;
  /** Replaces the object if its revision is still `expected`; otherwise returns what is there now (or undefined when gone). */
  update(key: string, stored: Buffer, expected: Revision, options?: PutOptions): Promise<ConditionalResult>;
  /** What `update` would write, for the transaction of another resource's write. */
  companionUpdate(key: string, stored: Buffer, expected: Revision): CompanionUpdate;
  /** Removes the object if its revision is still `expected`. */
  delete(key: string, expected: Revision, options?: ConditionalOptions): Promise<ConditionalResult>;
}

export type ConditionalResult =
  /** Written. `entry` is the new version; after a delete the last one, at the revision of the deletion. */
  { readonly ok: true; readonly entry: Entry } | { readonly ok: false; readonly current: Entry | undefined };
