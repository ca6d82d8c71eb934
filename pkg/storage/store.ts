/**
 * The narrow contract that the API server's storage stands on. etcd is the real implementation; the in-memory one may
 * exist because the same suite (`storeContract` in `store-contract.ts`) runs against both.
 *
 * Guarantees: every write gets a revision greater than all before it; a watch delivers each write of its range once,
 * in revision order; a read without a revision is linearizable.
 */
import type { Cancellation } from '#apimachinery/cancellation.js';

/** A store revision; 64 bits in etcd, so never a JavaScript number. */
export type Revision = bigint;

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  /** Revision of the last write to this key: the object's resourceVersion. */
  readonly modRevision: Revision;
  /** The value is not stored the way it would be written now: worth writing even when it does not change. */
  readonly stale?: boolean;
  /** Why the value cannot be read, without any part of it; `value` is empty then. */
  readonly unreadable?: string;
}

export interface RangeOptions {
  /** First key, inclusive. */
  readonly start: string;
  /** End key, exclusive. `prefixEnd(prefix)` gives the end of a prefix. */
  readonly end: string;
  /** At most that many pairs; 0 or absent = no limit. */
  readonly limit?: number;
  /** Read at this revision; absent = the newest, linearizable. Throws `compacted` or `futureRevision`. */
  readonly revision?: Revision;
  /** Leave values empty. */
  readonly keysOnly?: boolean;
  readonly signal?: Cancellation;
}

export interface RangeResult {
  readonly kvs: KeyValue[];
  /** Number of keys in the whole range, regardless of `limit`. */
  readonly count: number;
  /** The store's revision when the range was read (the newest one, also for reads at an older revision). */
  readonly revision: Revision;
}

/** Outcome of a conditional write. */
export type WriteResult =
  | {
      readonly ok: true;
      readonly revision: Revision;
      /** What guards put is in another store, at revisions of its own. */
      readonly putApart?: boolean;
    }
  /** The condition did not hold; `current` is the pair as it is, absent when the key does not exist. */
  | {
      readonly ok: false;
      readonly current?: KeyValue;
      readonly revision: Revision;
      /** The guards that did not hold, whatever else did not; absent: it was none of them. */
      readonly failedGuards?: readonly Guard[];
    };

/** What some other key must be at the moment of a write: last written at `modRevision` (0: not there). */
export interface Guard {
  readonly key: string;
  readonly modRevision: Revision;
  /**
   * Put there in the same transaction, as it is: only the key's owner knows the form in which its values are stored.
   * Absent: it stays as it is.
   */
  readonly value?: Buffer;
}

export interface DeleteOptions {
  readonly signal?: Cancellation;
  /** The write happens only if these hold too, in the same transaction. Of different keys, and none of them the written one. */
  readonly guards?: readonly Guard[];
}

export interface WriteOptions extends DeleteOptions {
  /** The key goes away by itself about this many seconds later. */
  readonly ttlSeconds?: number;
}

export type StoreEvent =
  | { readonly type: 'put'; readonly kv: KeyValue; readonly previous?: KeyValue; readonly created: boolean }
  /** `kv`: the key and the revision of the deletion, without a value. */
  | { readonly type: 'delete'; readonly kv: KeyValue; readonly previous?: KeyValue };

export type WatchMessage =
  /** All events of one or more whole revisions, in order. */
  | { readonly type: 'events'; readonly events: readonly StoreEvent[]; readonly revision: Revision }
  /** Nothing is missing up to `revision`. */
  | { readonly type: 'progress'; readonly revision: Revision };

export interface WatchOptions {
  readonly start: string;
  readonly end: string;
  /** First revision to deliver; `compacted` when it is not behind the compacted one, whose own write may be forgotten. */
  readonly fromRevision: Revision;
  /** Events tell what was there before, as far as history goes. For looking back: such a watch costs the store more. */
  readonly previous?: boolean;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

export interface Store {
  range(options: RangeOptions): Promise<RangeResult>;
  /** Puts the key if it does not exist. */
  create(key: string, value: Buffer, options?: WriteOptions): Promise<WriteResult>;
  /** Puts the key if its modRevision is `expected`. Keeps the lease of the key unless a new ttl is given. */
  update(key: string, value: Buffer, expected: Revision, options?: WriteOptions): Promise<WriteResult>;
  /** Deletes the key if its modRevision is `expected`. */
  delete(key: string, expected: Revision, options?: DeleteOptions): Promise<WriteResult>;
  /**
   * Streams every write from `fromRevision` on. Reconnects by itself and resumes behind the last delivered revision;
   * the iteration ends when the signal aborts and throws `compacted` when history is gone. Slow consumers exert
   * back-pressure; nothing is dropped.
   */
  watch(options: WatchOptions): AsyncIterable<WatchMessage>;
  /** Asks for a progress message soon on the open watches whose range begins at `start`; absent = on all. */
  requestProgress(start?: string): void;
  /** The newest revision, by a quorum read. */
  currentRevision(signal?: Cancellation): Promise<Revision>;
  /** Forgets history before `revision`. */
  compact(revision: Revision): Promise<void>;
  /** Resolves when the store answers a quorum read; rejects with the reason. */
  health(signal?: AbortSignal): Promise<void>;
  /** Bytes that the store uses on disk, by the address of each of its members that answers. */
  sizes(signal?: AbortSignal): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

export type StoreErrorCode = 'compacted' | 'futureRevision' | 'unavailable' | 'tooLarge' | 'noSpace' | 'timeout';

/** Why the store did not do it. `unavailable` and `timeout` of a write: the outcome is unknown. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  /** Of `compacted`, when it is known: history up to this revision is gone. */
  readonly compacted: Revision | undefined;
  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown; compacted?: Revision }) {
    super(message, options);
    this.code = code;
    this.compacted = options?.compacted;
  }
}

/** The first key behind all keys that start with `prefix`. */
export function prefixEnd(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
