/** A store in memory with etcd's revisions, history, watches, leases and compaction, for in-process clusters and tests. */
import type { Cancellation } from '#apimachinery/cancellation.js';
import { type Clock, type Timer, watchdogClock } from '#apimachinery/clock.js';
import { EventLog } from '#storage/memory/event-log.js';
import { SortedMap } from '#storage/sorted-map.js';
import {
  type DeleteOptions,
  type Guard,
  type KeyValue,
  type RangeOptions,
  type RangeResult,
  type Revision,
  type Store,
  StoreError,
  type WatchMessage,
  type WatchOptions,
  type WriteOptions,
  type WriteResult,
} from '#storage/store.js';

export interface MemoryStoreOptions {
  readonly clock: Clock;
}

/** A pair with what etcd tells of it besides. */
export interface MemoryKeyValue extends KeyValue {
  /** Revision of the first write since the key exists. */
  readonly createRevision: Revision;
  /** Number of writes since then. */
  readonly version: number;
}

export interface MemoryRange extends RangeResult {
  readonly kvs: MemoryKeyValue[];
}

/** The writes of one transaction. */
export interface MemoryTransaction {
  /** Returns the previous pair. `ttlSeconds`: a new lease; absent: the key keeps the one that it has. */
  put(key: string, value: Buffer, ttlSeconds?: number): MemoryKeyValue | undefined;
  /** Returns the deleted pair; undefined for an absent key. */
  delete(key: string): MemoryKeyValue | undefined;
}

const noValue = Buffer.alloc(0);

export class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #keys = new SortedMap<KeyHistory>();
  readonly #log = new EventLog();
  readonly #leases = new Map<string, Timer>();
  // Start with etcd's first revision.
  #revision: Revision = 1n;
  #compacted: Revision = 0n;
  #bytes = 0;
  #closed = false;

  constructor(options: MemoryStoreOptions) {
    this.#clock = options.clock;
  }

  async range(options: RangeOptions): Promise<MemoryRange> {
    return this.read(options);
  }

  /** Like `range`, at once. */
  read(options: RangeOptions): MemoryRange {
    this.#check(options.signal);
    const { start, end, limit = 0, keysOnly = false } = options;
    const at = options.revision ?? this.#revision;
    if (at > this.#revision) throw new StoreError('futureRevision', `revision ${at} is in the future`);
    if (at < this.#compacted) throw new StoreError('compacted', `revision ${at} has been compacted`);
    const kvs: MemoryKeyValue[] = [];
    let count = 0;
    for (const history of this.#keys.slice({ start, end })) {
      const kv = at === this.#revision ? history.current : history.at(at);
      if (kv === undefined) continue;
      count++;
      if (limit === 0 || kvs.length < limit) kvs.push(keysOnly ? { ...kv, value: noValue } : kv);
    }
    return { kvs, count, revision: this.#revision };
  }

  async create(key: string, value: Buffer, options: WriteOptions = {}): Promise<WriteResult> {
    this.#check(options.signal);
    return this.#mismatch(key, 0n, options) ?? this.#put(key, value, options);
  }

  async update(key: string, value: Buffer, expected: Revision, options: WriteOptions = {}): Promise<WriteResult> {
    this.#check(options.signal);
    return this.#mismatch(key, expected, options) ?? this.#put(key, value, options);
  }

  async delete(key: string, expected: Revision, options: DeleteOptions = {}): Promise<WriteResult> {
    this.#check(options.signal);
    return this.#mismatch(key, expected, options) ?? this.#remove(key, options);
  }

  /** Runs writes without conditions, which all have the same revision; nothing comes between. Keeps the leases of keys. */
  transact<T>(run: (transaction: MemoryTransaction) => T): T {
    this.#check();
    let revision: Revision | undefined;
    const next = () => {
      revision ??= ++this.#revision;
      return revision;
    };
    return run({
      put: (key, value, ttlSeconds) => {
        const previous = this.#keys.get(key)?.current;
        this.#putAt(next(), key, value);
        if (ttlSeconds !== undefined) this.#lease(key, ttlSeconds);
        return previous;
      },
      delete: (key) => {
        const previous = this.#keys.get(key)?.current;
        if (previous !== undefined) this.#removeAt(next(), key);
        return previous;
      },
    });
  }

  async *watch(options: WatchOptions): AsyncGenerator<WatchMessage, void, void> {
    yield* this.#log.follow(options, () => ({ revision: this.#revision, compacted: this.#compacted }));
  }

  requestProgress(): void {
    this.#log.announce();
  }

  async currentRevision(signal?: Cancellation): Promise<Revision> {
    this.#check(signal);
    return this.#revision;
  }

  async compact(revision: Revision): Promise<void> {
    this.#check();
    if (revision > this.#revision) throw new StoreError('futureRevision', `revision ${revision} is in the future`);
    if (revision <= this.#compacted) throw new StoreError('compacted', `revision ${revision} has been compacted`);
    this.#compacted = revision;
    for (const key of this.#log.compact(revision)) {
      if (this.#keys.get(key)?.compact(revision) === true) this.#keys.delete(key);
    }
  }

  async health(signal?: AbortSignal): Promise<void> {
    this.#check(signal);
  }

  /** Bytes of current keys and values. */
  async sizes(): Promise<ReadonlyMap<string, number>> {
    return new Map([['memory', this.#bytes]]);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const lease of this.#leases.values()) lease.cancel();
    this.#leases.clear();
    this.#log.close();
  }

  #check(signal?: Cancellation): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
    signal?.throwIfAborted();
  }

  /** Why a write must not happen: the key is not at `expected` (0: absent), or a guard does not hold. */
  #mismatch(key: string, expected: Revision, { guards = [] }: DeleteOptions): WriteResult | undefined {
    const current = this.#keys.get(key)?.current;
    const failedGuards = guards.filter((guard) => !this.#isAt(guard));
    if ((current?.modRevision ?? 0n) === expected && failedGuards.length === 0) return undefined;
    const failed = { ok: false, revision: this.#revision, ...(failedGuards.length > 0 && { failedGuards }) } as const;
    return current === undefined ? failed : { ...failed, current };
  }

  #isAt({ key, modRevision }: Guard): boolean {
    return (this.#keys.get(key)?.current?.modRevision ?? 0n) === modRevision;
  }

  /** One transaction: all puts have the same revision. */
  #put(key: string, value: Buffer, options: WriteOptions): WriteResult {
    const revision = ++this.#revision;
    this.#putAt(revision, key, value);
    if (options.ttlSeconds !== undefined) this.#lease(key, options.ttlSeconds);
    this.#putGuards(revision, options);
    return { ok: true, revision };
  }

  #putGuards(revision: Revision, { guards = [] }: DeleteOptions): void {
    for (const { key, value } of guards) if (value !== undefined) this.#putAt(revision, key, value);
  }

  #putAt(revision: Revision, key: string, value: Buffer): void {
    let history = this.#keys.get(key);
    if (history === undefined) {
      history = new KeyHistory();
      this.#keys.set(key, history);
    }
    const previous = history.current;
    const createRevision = previous?.createRevision ?? revision;
    const kv = { key, value, modRevision: revision, createRevision, version: (previous?.version ?? 0) + 1 };
    history.add(revision, kv);
    this.#bytes += value.length - (previous === undefined ? -key.length : previous.value.length);
    this.#log.add({ type: 'put', kv, created: previous === undefined, ...(previous && { previous }) });
  }

  #remove(key: string, options: DeleteOptions = {}): WriteResult {
    if (this.#keys.get(key)?.current === undefined) return { ok: false, revision: this.#revision };
    const revision = ++this.#revision;
    this.#removeAt(revision, key);
    this.#putGuards(revision, options);
    return { ok: true, revision };
  }

  #removeAt(revision: Revision, key: string): void {
    const history = this.#keys.get(key);
    const previous = history?.current;
    if (history === undefined || previous === undefined) return;
    history.add(revision, undefined);
    this.#bytes -= key.length + previous.value.length;
    this.#leases.get(key)?.cancel();
    this.#leases.delete(key);
    this.#log.add({ type: 'delete', kv: { key, value: noValue, modRevision: revision }, previous });
  }

  #lease(key: string, ttlSeconds: number): void {
    this.#leases.get(key)?.cancel();
    this.#leases.set(
      key,
      // A holder that renews in time may do so at the end of a leap of the clock.
      watchdogClock(this.#clock).setTimer(() => this.#remove(key), ttlSeconds * 1000),
    );
  }
}

/** A write; without a pair, a deletion. */
interface Version {
  readonly revision: Revision;
  readonly kv: MemoryKeyValue | undefined;
}

/** The versions of a key, oldest first. */
class KeyHistory {
  readonly #versions: Version[] = [];

  get current(): MemoryKeyValue | undefined {
    return this.#versions[this.#versions.length - 1]?.kv;
  }

  add(revision: Revision, kv: MemoryKeyValue | undefined): void {
    this.#versions.push({ revision, kv });
  }

  /** The pair at `revision`. */
  at(revision: Revision): MemoryKeyValue | undefined {
    for (let i = this.#versions.length - 1; i >= 0; i--) {
      const version = this.#versions[i];
      if (version !== undefined && version.revision <= revision) return version.kv;
    }
    return undefined;
  }

  /** Drops versions that cannot be read at `revision` or later; true if none is left. */
  compact(revision: Revision): boolean {
    let keepFrom = 0;
    while ((this.#versions[keepFrom + 1]?.revision ?? revision + 1n) <= revision) keepFrom++;
    this.#versions.splice(0, keepFrom);
    const [oldest] = this.#versions;
    if (oldest !== undefined && oldest.kv === undefined && oldest.revision <= revision) this.#versions.shift();
    return this.#versions.length === 0;
  }
}
