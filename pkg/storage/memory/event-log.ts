/** All writes since the last compaction in revision order, and their followers. */
import { firstIndex } from '#storage/sorted-map.js';
import { type Revision, StoreError, type StoreEvent, type WatchMessage, type WatchOptions } from '#storage/store.js';

/** The store's position. */
interface Position {
  readonly revision: Revision;
  readonly compacted: Revision;
}

/** Limit of events per batch; a revision is never split. */
const maxBatch = 500;

export class EventLog {
  /** Sorted by revision. */
  #events: StoreEvent[] = [];
  #wake: (() => void)[] = [];
  /** Number of progress requests. */
  #announced = 0;
  #closed = false;

  add(event: StoreEvent): void {
    this.#events.push(event);
    this.#wakeAll();
  }

  /** Makes every follower report its position. */
  announce(): void {
    this.#announced++;
    this.#wakeAll();
  }

  /** Drops events up to `revision` and returns their keys, whose histories may shrink. */
  compact(revision: Revision): Set<string> {
    const dropped = this.#events.splice(0, this.#firstFrom(revision + 1n));
    this.#wakeAll();
    return new Set(dropped.map(({ kv }) => kv.key));
  }

  close(): void {
    this.#closed = true;
    this.#wakeAll();
  }

  /** A watch that pulls from the log, so a slow reader holds only its position. */
  async *follow(options: WatchOptions, position: () => Position): AsyncGenerator<WatchMessage, void, void> {
    const { start, end, signal } = options;
    let next = options.fromRevision;
    // Requests from before the iteration get an answer, too.
    let announced = -1;
    const onAbort = () => this.#wakeAll();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted) {
        if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
        const { revision, compacted } = position();
        if (next <= compacted) throw new StoreError('compacted', `revision ${next} has been compacted`, { compacted });
        const events = this.#between(start, end, next);
        if (events.length > 0) {
          next = (events[events.length - 1] as StoreEvent).kv.modRevision + 1n;
          yield { type: 'events', events, revision: next - 1n };
        } else if (announced !== this.#announced && revision + 1n >= next) {
          announced = this.#announced;
          next = revision + 1n;
          yield { type: 'progress', revision };
        } else {
          if (revision + 1n > next) next = revision + 1n;
          await new Promise<void>((resolve) => this.#wake.push(resolve));
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #between(start: string, end: string, from: Revision): StoreEvent[] {
    const events: StoreEvent[] = [];
    for (let i = this.#firstFrom(from); i < this.#events.length; i++) {
      const event = this.#events[i] as StoreEvent;
      const last = events[events.length - 1];
      if (events.length >= maxBatch && last !== undefined && last.kv.modRevision !== event.kv.modRevision) break;
      const key = event.kv.key;
      if (key >= start && key < end) events.push(event);
    }
    return events;
  }

  /** Index of the first event at or after `revision`. */
  #firstFrom(revision: Revision): number {
    return firstIndex(this.#events, ({ kv }) => kv.modRevision >= revision);
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const resolve of waiting) resolve();
  }
}
