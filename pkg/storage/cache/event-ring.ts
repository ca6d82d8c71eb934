/** Recent changes of one resource, for watches that resume. Bounded in number and in age. */
import type { Clock } from '#apimachinery/clock.js';
import { CacheEntry, type EntryContext } from '#storage/cache/cache-entry.js';
import type { ResourceEvent } from '#storage/resource-storage.js';
import { firstIndex } from '#storage/sorted-map.js';
import type { Revision, StoreEvent } from '#storage/store.js';

/** Changes that happened before a cache was filled, put together from the store's history. */
export interface StoreHistory {
  /** Every write of the resource after this revision is in `events`. */
  readonly since: Revision;
  /** In the order of their revisions, with what was there before (`WatchOptions.previous`). */
  readonly events: readonly StoreEvent[];
  readonly context: EntryContext;
}

/**
 * The changes, and the revision after which they are complete: later than `since` where the store has already forgotten
 * what was there before, without which a selecting watch cannot tell what a change means.
 */
export function changesOfHistory(
  { since, events, context }: StoreHistory,
  known: (key: string, revision: Revision) => CacheEntry | undefined,
): { changes: Change[]; floor: Revision } {
  /** The state of each key that had a change; null: it was gone. */
  const latest = new Map<string, CacheEntry | null>();
  let changes: Change[] = [];
  let floor = since;
  for (const event of events) {
    const key = event.kv.key;
    const revision = event.kv.modRevision;
    const created = event.type === 'put' && event.created;
    const previous =
      latest.get(key) ??
      (created || event.previous === undefined ? undefined : new CacheEntry(event.previous, context));
    const kept = event.type === 'put' ? (known(key, revision) ?? new CacheEntry(event.kv, context)) : null;
    latest.set(key, kept);
    if (previous === undefined && !created) {
      changes = [];
      floor = revision;
      continue;
    }
    const entry = kept ?? previous?.at(revision);
    if (entry !== undefined) changes.push(new Change({ revision, entry, previous, deleted: kept === null }));
  }
  return { changes, floor };
}

/** One change of one object. */
export class Change {
  readonly revision: Revision;
  /** The new state; after a deletion the last one, at the deletion's revision. */
  readonly entry: CacheEntry;
  readonly previous: CacheEntry | undefined;
  readonly deleted: boolean;
  #departed: CacheEntry | undefined;
  #event: Exclude<ResourceEvent, { type: 'BOOKMARK' }> | undefined;

  constructor(fields: Pick<Change, 'revision' | 'entry' | 'previous' | 'deleted'>) {
    this.revision = fields.revision;
    this.entry = fields.entry;
    this.previous = fields.previous;
    this.deleted = fields.deleted;
  }

  /** The previous state at this change's revision, made once: what those see for whom the object is gone now. */
  departed(previous: CacheEntry): CacheEntry {
    this.#departed ??= this.deleted ? this.entry : previous.at(this.revision);
    return this.#departed;
  }

  /** The change as an event of that type, one and the same for all to whom it is of that type. */
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', entry: CacheEntry): ResourceEvent {
    if (this.#event?.type !== type) this.#event = { type, entry, revision: this.revision };
    return this.#event;
  }
}

export interface EventRingOptions {
  readonly clock: Clock;
  /** Changes kept at most. */
  readonly capacity: number;
  /** Bytes of the states that these changes brought, at most; the newest change is kept whatever its size. */
  readonly maxBytes: number;
  /** Changes older than this go first, whatever their number. */
  readonly maxAgeMs: number;
}

interface Recorded {
  readonly change: Change;
  readonly bytes: number;
  /** Monotonic. */
  readonly atMs: number;
}

export class EventRing {
  readonly #options: EventRingOptions;
  #recorded: Recorded[] = [];
  /** Index of the oldest one; the array is trimmed when half of it is behind this. */
  #head = 0;
  #bytes = 0;
  #floor: Revision = 0n;

  constructor(options: EventRingOptions) {
    this.#options = options;
  }

  /** All changes after this revision are here. */
  get floor(): Revision {
    return this.#floor;
  }

  get length(): number {
    return this.#recorded.length - this.#head;
  }

  /** Starts anew: nothing is known of what happened up to `floor`. */
  reset(floor: Revision): void {
    this.#recorded = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#floor = floor;
  }

  add(change: Change): void {
    const now = this.#options.clock.monotonic();
    this.#record(this.#recorded, change, now);
    this.#trim(now);
  }

  /**
   * Puts older changes before those that are here, in the order of their revisions: with them all changes after `floor`
   * are here, or as many as there is room for.
   */
  prepend(changes: readonly Change[], floor: Revision): void {
    const room = Math.max(0, this.#options.capacity - this.length);
    const atMs = this.#options.clock.monotonic();
    const dropped = Math.max(0, changes.length - room);
    const older: Recorded[] = [];
    for (const change of changes.slice(dropped)) this.#record(older, change, atMs);
    this.#recorded = older.concat(this.#recorded.slice(this.#head));
    this.#head = 0;
    this.#floor = changes[dropped - 1]?.revision ?? floor;
    this.#trim(atMs);
  }

  /** The changes after `revision`, which must not be below the floor. */
  after(revision: Revision): Change[] {
    const first = firstIndex(this.#recorded, ({ change }) => change.revision > revision, this.#head);
    return this.#recorded.slice(first).map((recorded) => recorded.change);
  }

  #record(into: Recorded[], change: Change, atMs: number): void {
    const bytes = change.entry.size;
    into.push({ change, bytes, atMs });
    this.#bytes += bytes;
  }

  #trim(now: number): void {
    const { capacity, maxAgeMs, maxBytes } = this.#options;
    for (;;) {
      const oldest = this.#recorded[this.#head];
      const fits = this.length <= capacity && (this.#bytes <= maxBytes || this.length === 1);
      if (oldest === undefined || (fits && now - oldest.atMs <= maxAgeMs)) break;
      this.#floor = oldest.change.revision;
      this.#bytes -= oldest.bytes;
      this.#head++;
    }
    // What is behind the head is memory too.
    if (this.#head > 64 && this.#head * 8 > this.#recorded.length) {
      this.#recorded = this.#recorded.slice(this.#head);
      this.#head = 0;
    }
  }
}
