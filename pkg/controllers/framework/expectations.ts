/**
 * What a controller has done and its cache does not show yet. As long as something is outstanding, the counts in the
 * cache are stale, and acting on them would create or delete twice.
 *
 * Unlike a counter, this remembers the UIDs: an event that has nothing to do with the owner's own writes never
 * satisfies an expectation, and it does not matter whether the event or the answer of the write comes first.
 */
import type { Clock } from '#apimachinery/clock.js';

interface Outstanding {
  /** Creations whose answer has not come. */
  creating: number;
  /** Created, and not in the cache yet. */
  readonly created: Set<string>;
  /** Arrived in the cache while an answer was awaited: perhaps the object that the answer will name. */
  readonly arrived: Set<string>;
  /** Deleted, and in the cache still. */
  readonly deleting: Set<string>;
  sinceMs: number;
}

/** Expectations are given up after five minutes, as in 1.24: an object may be created and gone between two lists. */
export const expectationsTimeoutMs = 300_000;

export class Expectations {
  readonly #clock: Clock;
  readonly #byOwner = new Map<string, Outstanding>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** To be called before a creation is sent. `owner` is the owner's UID. */
  creating(owner: string): void {
    const state = this.#of(owner);
    state.creating += 1;
    state.sinceMs = this.#clock.monotonic();
  }

  /** To be called with the answer: the created object's UID, or undefined when nothing was created. */
  created(owner: string, uid: string | undefined): void {
    const state = this.#byOwner.get(owner);
    if (state === undefined) return;
    state.creating = Math.max(0, state.creating - 1);
    if (uid !== undefined && !state.arrived.delete(uid)) state.created.add(uid);
    if (state.creating === 0) state.arrived.clear();
    this.#tidy(owner, state);
  }

  /** To be called before a deletion is sent. */
  deleting(owner: string, uid: string): void {
    const state = this.#of(owner);
    state.deleting.add(uid);
    state.sinceMs = this.#clock.monotonic();
  }

  /** The deletion failed: nothing will be seen of it. */
  notDeleted(owner: string, uid: string): void {
    this.#remove(owner, (state) => state.deleting.delete(uid));
  }

  /** The cache has the object (added or updated). */
  sawObject(owner: string, uid: string): void {
    this.#remove(owner, (state) => {
      if (!state.created.delete(uid) && state.creating > 0) state.arrived.add(uid);
    });
  }

  /** The cache shows the object as being deleted, or does not have it any more. */
  sawDeletion(owner: string, uid: string): void {
    this.#remove(owner, (state) => {
      state.deleting.delete(uid);
      if (!state.created.delete(uid) && state.creating > 0) state.arrived.add(uid);
    });
  }

  /** Zero when the cache shows all that was done; else the milliseconds until that is no longer waited for. */
  waitMs(owner: string): number {
    const state = this.#byOwner.get(owner);
    if (state === undefined) return 0;
    return Math.max(0, state.sinceMs + expectationsTimeoutMs - this.#clock.monotonic());
  }

  /** The owner is gone. */
  forget(owner: string): void {
    this.#byOwner.delete(owner);
  }

  #of(owner: string): Outstanding {
    let state = this.#byOwner.get(owner);
    if (state === undefined || (state.creating === 0 && this.waitMs(owner) === 0)) {
      state = { creating: 0, created: new Set(), arrived: new Set(), deleting: new Set(), sinceMs: 0 };
      this.#byOwner.set(owner, state);
    }
    return state;
  }

  #remove(owner: string, change: (state: Outstanding) => void): void {
    const state = this.#byOwner.get(owner);
    if (state === undefined) return;
    change(state);
    this.#tidy(owner, state);
  }

  #tidy(owner: string, state: Outstanding): void {
    if (state.creating + state.created.size + state.deleting.size === 0) this.#byOwner.delete(owner);
  }
}
