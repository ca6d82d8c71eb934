/** The last events that the hub has given out, for watches that begin a moment ago. Bounded in number and bytes. */
import { keyOf, type Revision, revisionOf, type StoreEvent } from '#storage/store.js';

const maxEvents = 2000;
const maxBytes = 8 * 1024 * 1024;

export class RecentEvents {
  #events: StoreEvent[] = [];
  #bytes = 0;
  #floor: Revision = 0n;

  /** Every event after this revision is here. */
  get floor(): Revision {
    return this.#floor;
  }

  reset(floor: Revision): void {
    this.#events = [];
    this.#bytes = 0;
    this.#floor = floor;
  }

  add(events: readonly StoreEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#bytes += bytesOf(event);
    }
    if (this.#events.length <= maxEvents && this.#bytes <= maxBytes) return;
    this.#dropOldest();
  }

  after(revision: Revision): StoreEvent[] {
    return this.#events.filter((event) => revisionOf(event) > revision);
  }

  /** Down to half of each bound at once, so that the cost per event stays small. */
  #dropOldest(): void {
    let dropped = 0;
    while (this.#events.length - dropped > maxEvents / 2 || this.#bytes > maxBytes / 2) {
      const oldest = this.#events[dropped++];
      if (oldest === undefined) break;
      this.#bytes -= bytesOf(oldest);
      this.#floor = revisionOf(oldest);
    }
    this.#events = this.#events.slice(dropped);
  }
}

const bytesOf = (event: StoreEvent): number => keyOf(event).length + (event.type === 'put' ? event.kv.value.length : 0);
