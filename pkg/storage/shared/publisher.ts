/**
 * The side of the thread that follows the store: keeps the bytes of its caches in shared memory and tells readers in other
 * threads of all that the caches take in, in batches of one turn of the event loop.
 */
import type { MessagePort } from 'node:worker_threads';
import type { CacheEntry } from '#storage/cache/cache-entry.js';
import type { Change } from '#storage/cache/event-ring.js';
import type { CacheState, StateObserver } from '#storage/cache/state.js';
import type { FeedBatch, FeedMessage, FeedRequest, PastRecord, VersionRecord } from '#storage/shared/messages.js';
import { type Slab, SlabArena, Weights } from '#storage/shared/slabs.js';
import type { Revision } from '#storage/store.js';

/** A message that may be made late, and the slabs that it refers to. */
interface Outgoing {
  readonly message: FeedMessage;
  readonly slabs: ReadonlySet<Slab>;
}

export interface PublisherOptions {
  /** Calls back in the next turn of the event loop. */
  readonly defer: (callback: () => void) => void;
  /** A reader waits for a resource to be told how far it is. */
  readonly requestProgress: (prefix: string) => void;
  /** A reader's copy differs from the store: the state that it was told may, too. */
  readonly distrusted: (prefix: string) => void;
}

/** Records in one message of a long series: so many are copied in a fraction of a millisecond. */
const chunkRecords = 500;

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #resources = new Map<string, PublishedResource>();
  readonly #readers = new Set<Reader>();
  readonly #dirty = new Set<PublishedResource>();
  readonly #weights = new Weights();
  #nextSlab = 1;
  #scheduled = false;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** What the cache of that resource is to be told to. */
  observer(prefix: string): StateObserver {
    const resource = new PublishedResource(prefix, {
      nextId: () => this.#nextSlab++,
      weights: this.#weights,
      dirty: (dirty) => this.#wasChanged(dirty),
      replay: (again) => {
        this.#flush();
        for (const reader of this.#readers) reader.send(again.whole());
      },
      unused: (slab) => {
        for (const reader of this.#readers) reader.forget(slab);
      },
      past: (again) => {
        for (const reader of this.#readers) reader.send(again.past());
      },
    });
    this.#resources.set(prefix, resource);
    return resource;
  }

  /** Bytes of the present state of all resources, and of the slabs that have any of it. */
  get size(): { readonly live: number; readonly slabs: number } {
    const sizes = [...this.#resources.values()].map(({ size }) => size);
    return {
      live: sizes.reduce((sum, { live }) => sum + live, 0),
      slabs: sizes.reduce((sum, { slabs }) => sum + slabs, 0),
    };
  }

  /** Tells the reader everything from now on; returns what ends that. */
  add(channel: MessagePort): () => void {
    // What others have yet to be told is in the state that this one begins with.
    this.#flush();
    const reader = new Reader(channel, this.#options.defer);
    channel.on('message', (request: FeedRequest) => this.#answer(reader, request));
    this.#readers.add(reader);
    for (const resource of this.#resources.values()) if (resource.filled) reader.send(resource.whole());
    return () => {
      this.#readers.delete(reader);
      reader.close();
    };
  }

  #answer(reader: Reader, { type, prefix }: FeedRequest): void {
    const resource = this.#resources.get(prefix);
    if (resource === undefined) return;
    if (type === 'progress') {
      this.#options.requestProgress(prefix);
      return;
    }
    this.#options.distrusted(prefix);
    if (!resource.filled) return;
    this.#flush();
    reader.send(resource.whole());
  }

  #wasChanged(resource: PublishedResource): void {
    this.#dirty.add(resource);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.defer(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#dirty.size === 0) return;
    const outgoing = [...this.#dirty].map((resource) => resource.changes());
    this.#dirty.clear();
    for (const reader of this.#readers) reader.send(outgoing);
  }
}

interface PublishedResourceOptions {
  readonly nextId: () => number;
  readonly weights: Weights;
  /** There is something to tell. */
  readonly dirty: (resource: PublishedResource) => void;
  /** Everything is to be told again. */
  readonly replay: (resource: PublishedResource) => void;
  readonly past: (resource: PublishedResource) => void;
  readonly unused: (slab: Slab) => void;
}

/** What has happened in this turn: a change, or an entry whose bytes were moved. */
type Step = Change | CacheEntry;

class PublishedResource implements StateObserver {
  readonly #prefix: string;
  readonly #options: PublishedResourceOptions;
  readonly #arena: SlabArena;
  #state: CacheState | undefined;
  #steps: Step[] = [];
  /** How far the state was when it last advanced: up to there nothing is missing in what is told. */
  #revision: Revision = 0n;
  /** The entries of the state before, to be given up when it is replaced. */
  #held = new Set<CacheEntry>();

  constructor(prefix: string, options: PublishedResourceOptions) {
    this.#prefix = prefix;
    this.#options = options;
    const { nextId, weights, unused, dirty } = options;
    const moved = (entry: CacheEntry) => {
      this.#steps.push(entry);
      dirty(this);
    };
    this.#arena = new SlabArena({ nextId, weights, unused, moved });
  }

  get filled(): boolean {
    return this.#state?.filled === true;
  }

  get size(): { readonly live: number; readonly slabs: number } {
    return this.#arena.size;
  }

  observe(state: CacheState): void {
    this.#state = state;
  }

  changed(change: Change): void {
    const { entry, previous, deleted } = change;
    if (!deleted) this.#hold(entry);
    if (previous !== undefined) this.#drop(previous);
    this.#steps.push(change);
  }

  advanced(): void {
    this.#revision = this.#present.revision;
    this.#options.dirty(this);
  }

  replaced(): void {
    const now = new Set(this.#present.entries.slice({}));
    for (const entry of now) this.#hold(entry);
    for (const entry of this.#held) if (!now.has(entry)) this.#drop(entry);
    this.#options.replay(this);
  }

  settled(): void {
    if (this.filled) this.#options.past(this);
  }

  /** What has happened since this was last asked. */
  changes(): Outgoing {
    const slabs = new Set<Slab>();
    const steps = this.#steps.map((step) => {
      if (!('entry' in step)) return { moved: this.#record(step, slabs) };
      return step.deleted ? { key: step.entry.key, revision: step.revision } : this.#record(step.entry, slabs);
    });
    this.#steps = [];
    return { slabs, message: { type: 'changes', prefix: this.#prefix, steps, revision: this.#revision } };
  }

  /** The state as it is now, with what led to it if that is known already. */
  whole(): Iterable<Outgoing> {
    const { entries, revision, historySettled } = this.#present;
    const view = entries.snapshot();
    return this.#series(view.slice({}), revision, historySettled ? this.#recent() : undefined);
  }

  /** What led to the present state. */
  past(): Iterable<Outgoing> {
    return this.#pastSeries(this.#recent());
  }

  get #present(): CacheState {
    if (this.#state === undefined) throw new TypeError(`the cache of ${this.#prefix} does not exist yet`);
    return this.#state;
  }

  #recent(): { readonly floor: Revision; readonly changes: readonly Change[] } {
    const { ring } = this.#present;
    return { floor: ring.floor, changes: ring.after(ring.floor) };
  }

  *#series(
    entries: readonly CacheEntry[],
    revision: Revision,
    recent: { readonly floor: Revision; readonly changes: readonly Change[] } | undefined,
  ): Generator<Outgoing> {
    const prefix = this.#prefix;
    for (const chunk of chunksOf(entries)) {
      const slabs = new Set<Slab>();
      const records = chunk.map((entry) => this.#record(entry, slabs));
      yield { slabs, message: { type: 'state', prefix, entries: records } };
    }
    if (recent !== undefined) yield* this.#pastSeries(recent);
    yield { slabs: new Set(), message: { type: 'filled', prefix, revision } };
  }

  *#pastSeries({
    floor,
    changes,
  }: {
    readonly floor: Revision;
    readonly changes: readonly Change[];
  }): Generator<Outgoing> {
    const prefix = this.#prefix;
    for (const chunk of chunksOf(changes)) {
      const slabs = new Set<Slab>();
      const records = chunk.map((change) => this.#pastRecord(change, slabs));
      yield { slabs, message: { type: 'past', prefix, changes: records } };
    }
    yield { slabs: new Set(), message: { type: 'settled', prefix, floor } };
  }

  #pastRecord({ revision, entry, previous, deleted }: Change, slabs: Set<Slab>): PastRecord {
    return {
      revision,
      ...(deleted ? {} : { entry: this.#record(entry, slabs) }),
      ...(previous === undefined ? {} : { previous: this.#record(previous, slabs) }),
    };
  }

  #record(entry: CacheEntry, slabs: Set<Slab>): VersionRecord {
    const { place, slabs: used } = this.#arena.locate(entry);
    for (const slab of used) slabs.add(slab);
    const { key, revision, stale, unreadable, knownOutline: outline } = entry;
    return {
      key,
      revision,
      place,
      ...(stale ? { stale } : {}),
      ...(unreadable === undefined ? {} : { unreadable }),
      ...(outline === undefined ? {} : { outline }),
    };
  }

  #hold(entry: CacheEntry): void {
    this.#held.add(entry);
    this.#arena.hold(entry);
  }

  #drop(entry: CacheEntry): void {
    this.#held.delete(entry);
    this.#arena.drop(entry);
  }
}

function* chunksOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += chunkRecords) yield items.slice(at, at + chunkRecords);
}

/** One reader: what it knows, and what waits to be sent to it. */
class Reader {
  readonly #channel: MessagePort;
  readonly #defer: (callback: () => void) => void;
  readonly #known = new Set<number>();
  readonly #queue: Iterator<Outgoing>[] = [];
  #forget: number[] = [];
  #sending = false;
  #closed = false;

  constructor(channel: MessagePort, defer: (callback: () => void) => void) {
    this.#channel = channel;
    this.#defer = defer;
  }

  /** Sends them in turn, a long series in as many turns as it has messages; all else waits until then. */
  send(messages: Iterable<Outgoing>): void {
    if (this.#closed) return;
    if (!this.#sending && Array.isArray(messages)) {
      this.#post(messages as readonly Outgoing[]);
      return;
    }
    this.#queue.push(messages[Symbol.iterator]());
    if (!this.#sending) this.#next();
  }

  /** The slab is of no use any more. */
  forget(slab: Slab): void {
    if (this.#known.delete(slab.id)) this.#forget.push(slab.id);
  }

  close(): void {
    this.#closed = true;
    this.#queue.length = 0;
  }

  readonly #next = (): void => {
    const [first] = this.#queue;
    this.#sending = first !== undefined;
    if (first === undefined) return;
    const result = first.next();
    if (result.done === true) this.#queue.shift();
    else this.#post([result.value]);
    this.#defer(this.#next);
  };

  #post(outgoing: readonly Outgoing[]): void {
    const slabs = new Map<number, SharedArrayBuffer>();
    const forget = new Set(this.#forget);
    this.#forget = [];
    for (const { slabs: used } of outgoing) {
      for (const { id, memory, inUse } of used) {
        if (this.#known.has(id) || slabs.has(id)) continue;
        slabs.set(id, memory);
        // A template may have been given up and be needed again since.
        forget.delete(id);
        // Nobody will say when one without any of the present state is of no use any more.
        if (!inUse) forget.add(id);
        else this.#known.add(id);
      }
    }
    const batch: FeedBatch = {
      slabs: [...slabs],
      messages: outgoing.map(({ message }) => message),
      forget: [...forget],
    };
    this.#channel.postMessage(batch);
  }
}
