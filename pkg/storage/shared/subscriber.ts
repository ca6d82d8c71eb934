/** The side of a reading thread: keeps the states of its caches equal to those of the thread that follows the store. */
import type { MessagePort } from 'node:worker_threads';
import { CacheEntry } from '#storage/cache/cache-entry.js';
import { Change } from '#storage/cache/event-ring.js';
import type { CacheFeed, FedCache } from '#storage/cache/feed.js';
import type { Write } from '#storage/cache/state.js';
import type { Bytes } from '#storage/segments/segmented.js';
import type {
  FeedBatch,
  FeedMessage,
  FeedRequest,
  MoveRecord,
  PastRecord,
  VersionRecord,
  WriteRecord,
} from '#storage/shared/messages.js';
import { PlacedBytes, PlacedTemplate } from '#storage/shared/placed-bytes.js';
import { Weights } from '#storage/shared/slabs.js';
import type { Revision } from '#storage/store.js';

type BytesOf = (record: VersionRecord) => Bytes;

export class Subscriber {
  readonly #channel: MessagePort;
  /** All of each slab. */
  readonly #slabs = new Map<number, Buffer>();
  readonly #templates = new Map<number, PlacedTemplate>();
  readonly #feeds = new Map<string, SharedFeed>();
  readonly #weights = new Weights();

  /** To be made, and its feeds too, before the other side is told of the channel. */
  constructor(channel: MessagePort) {
    this.#channel = channel;
    channel.on('message', (batch: FeedBatch) => this.#take(batch));
  }

  /** What keeps that cache. */
  feed(cache: FedCache): CacheFeed {
    const feed = new SharedFeed(cache, {
      bytesOf: (record) => this.#bytesOf(record),
      refill: () => this.#ask({ type: 'refill', prefix: cache.prefix }),
    });
    this.#feeds.set(cache.prefix, feed);
    return feed;
  }

  /** Whether the cache with that prefix is kept by this. */
  follows(prefix: string): boolean {
    return this.#feeds.has(prefix);
  }

  /** Asks to be told soon how far the resource is; absent: all of them. */
  requestProgress(prefix?: string): void {
    for (const each of prefix === undefined ? this.#feeds.keys() : [prefix])
      this.#ask({ type: 'progress', prefix: each });
  }

  #ask(request: FeedRequest): void {
    this.#channel.postMessage(request);
  }

  #take({ slabs, messages, forget }: FeedBatch): void {
    for (const [id, memory] of slabs) {
      this.#slabs.set(id, Buffer.from(memory));
      this.#weights.add(memory);
    }
    for (const message of messages) this.#feeds.get(message.prefix)?.take(message);
    for (const id of forget) {
      this.#slabs.delete(id);
      this.#templates.delete(id);
    }
  }

  #bytesOf({ key, place }: VersionRecord): Bytes {
    const [id, offset, packedLength, template, length] = place;
    const slab = this.#slab(key, id);
    if (template === undefined || length === undefined) return slab.subarray(offset, offset + packedLength);
    return new PlacedBytes({ slab, offset, packedLength, template: this.#template(key, template), length });
  }

  #template(key: string, id: number): PlacedTemplate {
    let template = this.#templates.get(id);
    if (template === undefined) {
      template = new PlacedTemplate(this.#slab(key, id).buffer as SharedArrayBuffer);
      this.#templates.set(id, template);
    }
    return template;
  }

  #slab(key: string, id: number): Buffer {
    const slab = this.#slabs.get(id);
    if (slab === undefined) throw new RangeError(`${key} is in slab ${id}, which is not known`);
    return slab;
  }
}

class SharedFeed implements CacheFeed {
  readonly #cache: FedCache;
  readonly #bytesOf: BytesOf;
  readonly #refill: () => void;
  #stopped = false;
  /** Of a whole state that has not been told to its end. */
  #entries: CacheEntry[] = [];
  #past: Change[] = [];
  /** The revision after which `#past` is complete, once that is known; before the state is filled. */
  #floor: Revision | undefined;

  constructor(cache: FedCache, { bytesOf, refill }: { readonly bytesOf: BytesOf; readonly refill: () => void }) {
    this.#cache = cache;
    this.#bytesOf = bytesOf;
    this.#refill = refill;
  }

  async run(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#stopped = true;
  }

  refill(): void {
    this.#refill();
  }

  take(message: FeedMessage): void {
    if (this.#stopped) return;
    const { state } = this.#cache;
    switch (message.type) {
      case 'changes':
        this.#apply(message.steps, message.revision);
        break;
      case 'state':
        for (const record of message.entries) this.#entries.push(this.#entry(record));
        break;
      case 'past':
        for (const record of message.changes) this.#past.push(this.#change(record));
        break;
      case 'filled': {
        const entries = this.#entries;
        this.#entries = [];
        state.replace(entries, message.revision);
        if (this.#floor !== undefined) this.#settle(this.#floor);
        break;
      }
      case 'settled':
        if (state.filled) this.#settle(message.floor);
        else this.#floor = message.floor;
        break;
    }
  }

  #apply(steps: readonly (WriteRecord | MoveRecord)[], revision: Revision): void {
    const { state } = this.#cache;
    // What is told before the state itself is in it.
    if (!state.filled) return;
    let writes: Write[] = [];
    for (const step of steps) {
      if ('moved' in step) {
        state.apply(writes, state.revision);
        writes = [];
        const { moved } = step;
        state.known(moved.key, moved.revision)?.rebind(this.#bytesOf(moved));
      } else if (step.place === undefined) writes.push({ key: step.key, revision: step.revision });
      else writes.push({ key: step.key, revision: step.revision, entry: this.#entry(step) });
    }
    state.apply(writes, revision);
  }

  #settle(floor: Revision): void {
    const { state } = this.#cache;
    const past = this.#past;
    this.#past = [];
    this.#floor = undefined;
    if (!state.historySettled) state.prepend(past, floor);
    state.settleHistory();
  }

  /** The version, in the entry that is known of it already where there is one. */
  #entry(record: VersionRecord): CacheEntry {
    const { state, context } = this.#cache;
    const { key, revision: modRevision, stale = false, unreadable, outline } = record;
    const bytes = this.#bytesOf(record);
    const known = state.known(key, modRevision);
    if (known !== undefined && known.stale === stale && known.keptIs(bytes)) {
      known.rebind(bytes);
      return known;
    }
    const kv = { key, value: noBytes, modRevision, stale, ...(unreadable !== undefined && { unreadable }) };
    const entry = new CacheEntry(kv, context, bytes);
    // Not in pieces of what else was sent.
    if (outline !== undefined) entry.tellOutline(Buffer.from(outline.buffer, outline.byteOffset, outline.length));
    return entry;
  }

  #change({ revision, entry: now, previous: before }: PastRecord): Change {
    const previous = before && this.#entry(before);
    const entry = now === undefined ? previous?.at(revision) : this.#entry(now);
    if (entry === undefined) throw new TypeError(`the change at ${revision} is of nothing`);
    return new Change({ revision, entry, previous, deleted: now === undefined });
  }
}

const noBytes = Buffer.alloc(0);
