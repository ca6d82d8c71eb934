/** Finds the watches that an event is for by the prefixes of its key, so that it costs nothing to the others. */
import type { Subscription } from '#storage/etcd/subscription.js';
import { keyOf, prefixEnd, type StoreEvent } from '#storage/store.js';

const separator = '/';

export class SubscriptionIndex {
  readonly #all = new Set<Subscription>();
  /** Those of all keys that begin with a prefix that ends with a slash. */
  readonly #byPrefix = new Map<string, Set<Subscription>>();
  /** Those of any other range. */
  readonly #others = new Set<Subscription>();

  get all(): ReadonlySet<Subscription> {
    return this.#all;
  }

  add(subscription: Subscription): void {
    this.#all.add(subscription);
    if (!isPrefix(subscription)) {
      this.#others.add(subscription);
      return;
    }
    const same = this.#byPrefix.get(subscription.start) ?? new Set();
    this.#byPrefix.set(subscription.start, same.add(subscription));
  }

  delete(subscription: Subscription): void {
    this.#all.delete(subscription);
    this.#others.delete(subscription);
    const same = this.#byPrefix.get(subscription.start);
    if (same?.delete(subscription) === true && same.size === 0) this.#byPrefix.delete(subscription.start);
  }

  /** What each of those concerned gets, in the order of the events. */
  route(events: readonly StoreEvent[]): Map<Subscription, StoreEvent[]> {
    const routed = new Map<Subscription, StoreEvent[]>();
    const give = (subscription: Subscription, event: StoreEvent) => {
      const theirs = routed.get(subscription);
      if (theirs === undefined) routed.set(subscription, [event]);
      else theirs.push(event);
    };
    for (const event of events) {
      const key = keyOf(event);
      for (let at = key.indexOf(separator); at >= 0; at = key.indexOf(separator, at + 1)) {
        const same = this.#byPrefix.get(key.slice(0, at + 1));
        if (same !== undefined) for (const subscription of same) give(subscription, event);
      }
      for (const subscription of this.#others) {
        if (key >= subscription.start && key < subscription.end) give(subscription, event);
      }
    }
    return routed;
  }
}

function isPrefix({ start, end }: Subscription): boolean {
  return start.endsWith(separator) && end === prefixEnd(start);
}
