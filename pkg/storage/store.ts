/**
 * The narrow contract of the API server's storage, implemented by etcd and in memory; both run the same suite
 * (`storeContract` in `store-contract.ts`).
 *
 * Guarantees: every write gets a revision greater than all earlier ones; a watch delivers each write of its range once,
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
  /** True if new values have another stored form, so that even an unchanged value is worth writing. */
  readonly stale?: boolean;
  /** Why the value is unreadable, without any part of it; `value` is empty then. */
  readonly unreadable?: string;
}

export interface RangeOptions {
  /** First key, inclusive. */
  readonly start: string;
  /** End key, exclusive. `prefixEnd(prefix)` gives the end of a prefix. */
  readonly end: string;
  /** Limit of pairs; 0 or absent: none. */
  readonly limit?: number;
  /** Revision of the read; absent: the newest, linearizable. Throws `compacted` or `futureRevision`. */
  readonly revision?: Revision;
  /** Leaves values empty. */
  readonly keysOnly?: boolean;
  readonly signal?: Cancellation;
}

export interface RangeResult {
  readonly kvs: KeyValue[];
  /** Number of keys in the range, regardless of `limit`. */
  readonly count: number;
  /** The newest revision at the time of the read, even for reads at an older one. */
  readonly revision: Revision;
}

/** Outcome of a conditional write. */
export type WriteResult =
  | {
      readonly ok: true;
      readonly revision: Revision;
      /** True if values of guards were written to another store, with other revisions. */
      readonly putApart?: boolean;
    }
  /** A condition did not hold; `current` is the current pair, absent if the key does not exist. */
  | {
      readonly ok: false;
      readonly current?: KeyValue;
      readonly revision: Revision;
      /** Guards that did not hold; absent if all held. */
      readonly failedGuards?: readonly Guard[];
    };

/** Condition on another key: last written at `modRevision` (0: absent). */
export interface Guard {
  readonly key: string;
  readonly modRevision: Revision;
  /** Value to put in the same transaction, already in stored form, which only the key's owner knows. Absent: unchanged. */
  readonly value?: Buffer;
}

export interface DeleteOptions {
  readonly signal?: Cancellation;
  /** Conditions of the write, in the same transaction. Keys must differ from each other and from the written one. */
  readonly guards?: readonly Guard[];
}

export interface WriteOptions extends DeleteOptions {
  /** Lifetime of the key in seconds, approximately. */
  readonly ttlSeconds?: number;
}

export type StoreEvent =
  | { readonly type: 'put'; readonly kv: KeyValue; readonly previous?: KeyValue; readonly created: boolean }
  /** `kv`: key and revision of the deletion, without a value. */
  | { readonly type: 'delete'; readonly kv: KeyValue; readonly previous?: KeyValue };

export type WatchMessage =
  /** All events of one or more complete revisions, in order. */
  | { readonly type: 'events'; readonly events: readonly StoreEvent[]; readonly revision: Revision }
  /** Everything up to `revision` was delivered. */
  | { readonly type: 'progress'; readonly revision: Revision };

export interface WatchOptions {
  readonly start: string;
  readonly end: string;
  /** First revision to deliver. Must be after the compacted one, whose write may be gone; otherwise fails with `compacted`. */
  readonly fromRevision: Revision;
  /** Adds previous values to events, as far as history has them; costs the store more. */
  readonly previous?: boolean;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

export interface Store {
  range(options: RangeOptions): Promise<RangeResult>;
  /** Puts the key if it does not exist. */
  create(key: string, value: Buffer, options?: WriteOptions): Promise<WriteResult>;
  /** Puts the key if its modRevision is `expected`. Keeps its lease unless a new ttl is given. */
  update(key: string, value: Buffer, expected: Revision, options?: WriteOptions): Promise<WriteResult>;
  /** Deletes the key if its modRevision is `expected`. */
  delete(key: string, expected: Revision, options?: DeleteOptions): Promise<WriteResult>;
  /**
   * Streams every write from `fromRevision` on. Reconnects and resumes after the last delivered revision. The iteration
   * ends when the signal aborts, and throws `compacted` if history is gone. Slow consumers exert back-pressure; nothing
   * is dropped.
   */
  watch(options: WatchOptions): AsyncIterable<WatchMessage>;
  /** Requests progress messages soon for watches whose range starts at `start`; absent: for all. */
  requestProgress(start?: string): void;
  /** The newest revision, from a quorum read. */
  currentRevision(signal?: Cancellation): Promise<Revision>;
  /** Drops history before `revision`. */
  compact(revision: Revision): Promise<void>;
  /** Resolves after a quorum read; rejects with the reason. */
  health(signal?: AbortSignal): Promise<void>;
  /** Disk usage in bytes, by address of each responding member. */
  sizes(signal?: AbortSignal): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

export type StoreErrorCode = 'compacted' | 'futureRevision' | 'unavailable' | 'tooLarge' | 'noSpace' | 'timeout';

/** Why an operation failed. After `unavailable` or `timeout` the outcome of a write is unknown. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  /** For `compacted`, if known: history up to this revision is gone. */
  readonly compacted: Revision | undefined;
  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown; compacted?: Revision }) {
    super(message, options);
    this.code = code;
    this.compacted = options?.compacted;
  }
}
