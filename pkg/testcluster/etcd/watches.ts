/** The service Watch of etcd's API: the watches of one stream. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { WireReader } from '#storage/etcd/answers.js';
import { WireWriter } from '#storage/etcd/requests.js';
import type { MemoryKeyValue, MemoryStore } from '#storage/memory/memory-store.js';
import { type Revision, StoreError, type StoreEvent, type WatchMessage } from '#storage/store.js';
import { answer, deletedPair, pair } from '#testcluster/etcd/answers.js';
import { type KeySpan, spanOf } from '#testcluster/etcd/key-values.js';
import type { Leases } from '#testcluster/etcd/leases.js';

export interface WatchStreamOptions {
  readonly store: MemoryStore;
  readonly leases: Leases;
  readonly clock: Clock;
  /** Sends a message to the client; resolves when it may get the next one. */
  readonly send: (message: Buffer) => Promise<void>;
}

interface WatchRequest extends KeySpan {
  /** 0: the next one. */
  readonly from: Revision;
  readonly notifies: boolean;
  readonly puts: boolean;
  readonly deletions: boolean;
  readonly previous: boolean;
  /** 0: any free one. */
  readonly id: bigint;
}

/** Pause between notifications of progress; etcd's. */
const notifyMs = 600_000;
/** Watch of a message for the whole stream. */
const wholeStream = -1n;

export class WatchStream {
  readonly #options: WatchStreamOptions;
  readonly #watches = new Map<bigint, AbortController>();
  #nextId = 0n;

  constructor(options: WatchStreamOptions) {
    this.#options = options;
  }

  /** Takes a request of the client. Throws a WireError for one that cannot be read. */
  async take(reader: WireReader): Promise<void> {
    while (reader.next()) {
      if (reader.field === 1) await this.#create(readCreation(reader.message()));
      else if (reader.field === 2) await this.#cancel(readId(reader.message()));
      else if (reader.field === 3) await this.#tell(wholeStream, (written) => written);
    }
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.abort();
    this.#watches.clear();
  }

  async #create(request: WatchRequest): Promise<void> {
    if (request.id !== 0n && this.#watches.has(request.id)) {
      const reason = 'etcdserver: duplicate watch ID provided on the WatchStream';
      await this.#tell(wholeStream, (written) => written.bool(3, true).bool(4, true).bytes(6, reason));
      return;
    }
    while (request.id === 0n && this.#watches.has(this.#nextId)) this.#nextId++;
    const id = request.id === 0n ? this.#nextId++ : request.id;
    const stop = new AbortController();
    this.#watches.set(id, stop);
    const from = request.from > 0n ? request.from : this.#revision + 1n;
    await this.#tell(id, (written) => written.bool(3, true));
    void this.#follow(id, { ...request, from }, stop);
  }

  /** Never rejects: a failure cancels the watch. */
  async #follow(id: bigint, request: WatchRequest, stop: AbortController): Promise<void> {
    const { store, clock } = this.#options;
    const { signal } = stop;
    let timer: Timer | undefined;
    const notifyLater = () => {
      timer?.cancel();
      if (request.notifies) timer = clock.setTimer(() => store.requestProgress(), notifyMs);
    };
    try {
      notifyLater();
      for await (const message of this.#messages(request, signal)) {
        const events = message.type === 'events' ? message.events.filter((event) => isWatched(event, request)) : [];
        if (events.length === 0 && (message.type === 'events' || !request.notifies)) continue;
        notifyLater();
        await this.#send(id, message.revision, (written) => {
          for (const event of events) written.message(11, this.#event(event, request));
        });
      }
    } catch (error) {
      if (!signal.aborted) await this.#canceled(id, error);
    } finally {
      timer?.cancel();
    }
  }

  /** Unlike the store, etcd lets a watch start at the revision of the compaction, and tells what was put there. */
  async *#messages({ start, end, from }: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchMessage, void, void> {
    const { store } = this.#options;
    try {
      yield* store.watch({ start, end, fromRevision: from, previous: true, signal });
    } catch (error) {
      if (!(error instanceof StoreError) || error.compacted !== from) throw error;
      const { kvs } = store.read({ start, end, revision: from });
      const events = kvs
        .filter(({ modRevision }) => modRevision === from)
        .map((kv): StoreEvent => ({ type: 'put', kv, created: kv.version === 1 }));
      if (events.length > 0) yield { type: 'events', events, revision: from };
      yield* store.watch({ start, end, fromRevision: from + 1n, previous: true, signal });
    }
  }

  async #canceled(id: bigint, error: unknown): Promise<void> {
    this.#watches.delete(id);
    const compacted = error instanceof StoreError && error.code === 'compacted' ? (error.compacted ?? 1n) : 0n;
    const reason =
      compacted > 0n ? 'etcdserver: mvcc: required revision has been compacted' : 'etcdserver: watch canceled';
    await this.#tell(id, (written) => written.bool(4, true).int(5, compacted).bytes(6, reason)).catch(() => undefined);
  }

  async #cancel(id: bigint): Promise<void> {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    watch.abort();
    this.#watches.delete(id);
    await this.#tell(id, (written) => written.bool(4, true));
  }

  #event(event: StoreEvent, { previous }: WatchRequest): WireWriter {
    const written = new WireWriter().int(1, event.type === 'delete' ? 1 : 0);
    const { leases } = this.#options;
    if (event.type === 'delete') written.message(2, deletedPair(event.kv.key, event.kv.modRevision));
    else written.message(2, pair(event.kv as MemoryKeyValue, leases.of(event.kv.key)));
    return previous && event.previous ? written.message(3, pair(event.previous as MemoryKeyValue, 0n)) : written;
  }

  #tell(id: bigint, write: (written: WireWriter) => void): Promise<void> {
    return this.#send(id, this.#revision, write);
  }

  #send(id: bigint, revision: Revision, write: (written: WireWriter) => void): Promise<void> {
    const written = answer(revision).int(2, id);
    write(written);
    return this.#options.send(written.finish());
  }

  get #revision(): Revision {
    return this.#options.store.read({ start: '', end: '' }).revision;
  }
}

function isWatched({ type }: StoreEvent, { puts, deletions }: WatchRequest): boolean {
  return type === 'put' ? puts : deletions;
}

function readCreation(reader: WireReader): WatchRequest {
  let key: Buffer = Buffer.alloc(0);
  let rangeEnd: Buffer = Buffer.alloc(0);
  let from = 0n;
  let id = 0n;
  const modes = { notifies: false, puts: true, deletions: true, previous: false };
  while (reader.next()) {
    if (reader.field === 1) key = reader.bytes();
    else if (reader.field === 2) rangeEnd = reader.bytes();
    else if (reader.field === 3) from = reader.int64();
    else if (reader.field === 4) modes.notifies = reader.bool();
    else if (reader.field === 5) {
      // A packed list of the kinds of events that are left out.
      const without = reader.bytes();
      modes.puts = !without.includes(0);
      modes.deletions = !without.includes(1);
    } else if (reader.field === 6) modes.previous = reader.bool();
    else if (reader.field === 7) id = reader.int64();
  }
  // An empty key means all keys.
  const span =
    key.length === 0
      ? spanOf(Buffer.alloc(1), rangeEnd.length === 0 ? rangeEnd : Buffer.alloc(1))
      : spanOf(key, rangeEnd);
  return { ...span, from, id, ...modes };
}

function readId(reader: WireReader): bigint {
  let id = 0n;
  while (reader.next()) if (reader.field === 1) id = reader.int64();
  return id;
}
