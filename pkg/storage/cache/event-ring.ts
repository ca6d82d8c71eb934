/** Recent changes of a resource for watches that resume, bounded by number, size and age. */
import type { Clock } from '#apimachinery/clock.js';
import { CacheEntry, type EntryContext } from '#storage/cache/cache-entry.js';
import type { ResourceEvent } from '#storage/resource-storage.js';
import { firstIndex } from '#storage/sorted-map.js';
import type { Revision, StoreEvent } from '#storage/store.js';

/** Changes from before the cache was filled, from the store's history. */
export interface StoreHistory {
  /** `events` contains every write after this revision. */
  readonly since: Revision;
  /** In revision order, with previous values (`WatchOptions.previous`). */
  readonly events: readonly StoreEvent[];
  readonly context: EntryContext;
}

/**
 * The changes and the revision after which they are complete. That is later than `since` where the store has dropped
 * previous values, without which a watch with a selector cannot interpret a change.
 */
export function changesOfHistory(
  { since, events, context }: StoreHistory,
  cachedAt: (key: string, revision: Revision) => CacheEntry | undefined,
): { changes: Change[]; floor: Revision } {
  /** State of each changed key; null: deleted. */
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
    const kept = event.type === 'put' ? (cachedAt(key, revision) ?? new CacheEntry(event.kv, context)) : null;
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

/** A change of an object. */
export class Change {
  readonly revision: Revision;
  /** The new state; for a deletion the last one, at the deletion's revision. */
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

  /** The previous state at this change's revision, created once, for watches whose selection the object has left. */
  departed(previous: CacheEntry): CacheEntry {
    this.#departed ??= this.deleted ? this.entry : previous.at(this.revision);
    return this.#departed;
  }

  /** The change as an event of a type, shared by all watches that get this type. */
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', entry: CacheEntry): ResourceEvent {
    if (this.#event?.type !== type) this.#event = { type, entry, revision: this.revision };
    return this.#event;
  }
}

export interface EventRingOptions {
  readonly clock: Clock;
  /** Limit of changes. */
  readonly capacity: number;
  /** Limit of the size of the new states; the newest change always stays. */
  readonly maxBytes: number;
  /** Older changes are dropped, regardless of their number. */
  readonly maxAgeMs: number;
}

interface Recorded {
  readonly change: Change;
  readonly bytes: number;
  /** Monotonic time. */
  readonly atMs: number;
}

export class EventRing {
  readonly #options: EventRingOptions;
  #recorded: Recorded[] = [];
  /** Index of the oldest change; earlier ones are removed in batches. */
  #head = 0;
  #bytes = 0;
  #floor: Revision = 0n;

  constructor(options: EventRingOptions) {
    this.#options = options;
  }

  /** The revision after which all changes are included. */
  get floor(): Revision {
    return this.#floor;
  }

  get length(): number {
    return this.#recorded.length - this.#head;
  }

  /** Drops all changes; history before `floor` is unknown. */
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

  /** Inserts older changes in revision order, so that all changes after `floor` are included, or as many as fit. */
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

  /** Changes after `revision`, which must not be less than the floor. */
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
    // Release the memory of dropped changes.
    if (this.#head > 64 && this.#head * 8 > this.#recorded.length) {
      this.#recorded = this.#recorded.slice(this.#head);
      this.#head = 0;
    }
  }
}

interface RelistOptions {
  /** The cache's content at `since`. */
  readonly before: readonly CacheEntry[];
  readonly since: Revision;
  /** The store's current content in key order, like `before`. */
  readonly now: readonly CacheEntry[];
  /** True for two versions of one object; false for two objects with the same name. */
  readonly sameObject: (a: CacheEntry, b: CacheEntry) => boolean;
}

/**
 * The changes from one state to the other in order, each with its own revision above `since`.
 * The real revisions of deletions are unknown, so they get the lowest free ones: a client that resumes elsewhere may
 * see a deletion twice, but never misses one.
 */
export function changesBetween(options: RelistOptions): Change[] {
  const { gone, changed } = compare(options);
  const usedRevisions = new Set(changed.map((change) => change.revision));
  let free = options.since;
  const deletions = gone.map((previous) => {
    do free++;
    while (usedRevisions.has(free));
    return new Change({ revision: free, entry: previous.at(free), previous, deleted: true });
  });
  return [...deletions, ...changed].sort((a, b) => (a.revision < b.revision ? -1 : 1));
}

function compare({ before, now, sameObject }: RelistOptions): { gone: CacheEntry[]; changed: Change[] } {
  const gone: CacheEntry[] = [];
  const changed: Change[] = [];
  let at = 0;
  for (const entry of now) {
    for (; at < before.length && (before[at] as CacheEntry).key < entry.key; at++) gone.push(before[at] as CacheEntry);
    let previous = before[at]?.key === entry.key ? before[at++] : undefined;
    if (previous?.revision === entry.revision) continue;
    if (previous !== undefined && !sameObject(previous, entry)) {
      gone.push(previous);
      previous = undefined;
    }
    changed.push(new Change({ revision: entry.revision, entry, previous, deleted: false }));
  }
  for (; at < before.length; at++) gone.push(before[at] as CacheEntry);
  return { gone, changed };
}
