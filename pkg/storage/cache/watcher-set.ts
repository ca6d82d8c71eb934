/**
 * Those who watch one resource: whom of them a change concerns, and when they are told. Watches that select the same share a log of events. Those that want one value of a field
 * only (the pods of a node, the object of a name) are found by that value, so that a change does not cost a look at each.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Change } from '#storage/cache/event-ring.js';
import { type Watcher, WatchLog } from '#storage/cache/watcher.js';
import type { Entry } from '#storage/resource-storage.js';

/** By what they select; a watcher that shares with nobody stands for itself. */
type Logs = Map<string | Watcher, WatchLog>;

interface Group {
  readonly read: (entry: Entry) => string;
  readonly byValue: Map<string, Logs>;
}

export class WatcherSet {
  readonly #all = new Set<Watcher>();
  /** Those that are in no group. */
  readonly #others: Logs = new Map();
  /** By the name of the field. */
  readonly #groups = new Map<string, Group>();

  get size(): number {
    return this.#all.size;
  }

  add(watcher: Watcher): void {
    this.#all.add(watcher);
    const { only, scope, selection } = watcher.options;
    const key = selection === undefined ? watcher : `${scope}\0${selection}`;
    const logs = only === undefined ? this.#others : this.#ofValue(only);
    const log = logs.get(key) ?? new WatchLog(watcher.options);
    logs.set(key, log);
    log.add(watcher);
  }

  delete(watcher: Watcher): void {
    if (!this.#all.delete(watcher)) return;
    const { only, scope, selection } = watcher.options;
    const key = selection === undefined ? watcher : `${scope}\0${selection}`;
    const group = only && this.#groups.get(only.field);
    const logs = only === undefined ? this.#others : group?.byValue.get(only.value);
    const log = logs?.get(key);
    log?.delete(watcher);
    if (log?.size === 0) logs?.delete(key);
    if (only === undefined || group === undefined) return;
    if (logs?.size === 0) group.byValue.delete(only.value);
    if (group.byValue.size === 0) this.#groups.delete(only.field);
  }

  /** Offers the change to all whom it may concern. */
  offer(change: Change): void {
    const { entry, previous } = change;
    offerTo(this.#others, change);
    // Whom it concerns cannot be told.
    const concernsAll = entry.unreadable !== undefined || previous?.unreadable !== undefined;
    for (const { read, byValue } of this.#groups.values()) {
      const values = concernsAll ? undefined : valuesOf(change, read);
      if (values === undefined) for (const logs of byValue.values()) offerTo(logs, change);
      else for (const value of values) offerTo(byValue.get(value), change);
    }
  }

  /** Ends every watch. */
  end(error: unknown): void {
    for (const watcher of this.#all) watcher.end(error);
    this.#all.clear();
    this.#others.clear();
    this.#groups.clear();
  }

  #ofValue({ field, value, read }: NonNullable<Watcher['options']['only']>): Logs {
    const group = this.#groups.get(field) ?? { read, byValue: new Map<string, Logs>() };
    this.#groups.set(field, group);
    const logs: Logs = group.byValue.get(value) ?? new Map();
    group.byValue.set(value, logs);
    return logs;
  }
}

function offerTo(logs: Logs | undefined, change: Change): void {
  if (logs !== undefined) for (const log of logs.values()) log.offer(change);
}

/** Now and before; undefined where it cannot be decoded, which everybody is told. */
function valuesOf({ entry, previous }: Change, read: Group['read']): ReadonlySet<string> | undefined {
  try {
    const values = new Set([read(entry)]);
    return previous === undefined ? values : values.add(read(previous));
  } catch {
    return undefined;
  }
}

/** Those notified in one turn: what each of them does takes some tens of microseconds. */
const batchSize = 64;
/** A round of many is followed by a rest so many times as long as the round was, but no longer than that. */
const restFactor = 2;
const maxRestMs = 20;

type Notify = () => void;

/**
 * Notifies many who wait for the same thing in several turns of the event loop, so that it is not held by all at once.
 *
 * Watchers that are notified together are a round. One that has news while a round lasts comes in the next one, with all that
 * has happened to it by then, and a round of many is followed by a rest: what comes for many many times a second reaches
 * each of them several events at a time, which costs hardly more than one. A few are always notified at once.
 */
export class NotificationQueue {
  readonly #clock: Clock;
  /** Those of the present round, up to `#next` notified. */
  #round: Notify[] = [];
  #next = 0;
  #later: Notify[] = [];
  /** In the present turn. */
  #notified = 0;
  #gathering = 0;
  #running = false;
  /** A turn is to come, or the end of a rest. */
  #waiting = false;
  #resting = false;
  /** When the present round needed a second turn. */
  #startMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `notify` now, or in one of the next turns after those that came before; never before `gather` is over. */
  add(notify: Notify): void {
    this.#later.push(notify);
    if (this.#gathering === 0) this.#go();
  }

  /** Those who have news several times during `work` are notified once, behind it. */
  gather(work: () => void): void {
    this.#gathering++;
    try {
      work();
    } finally {
      this.#gathering--;
    }
    if (this.#gathering === 0 && this.#later.length > 0) this.#go();
  }

  #go(): void {
    if (this.#running || this.#resting) return;
    this.#running = true;
    while (this.#notified < batchSize && !this.#resting) {
      if (this.#next === this.#round.length && !this.#begin()) break;
      this.#notified++;
      // By its number: a watcher that is notified may have others notified.
      (this.#round[this.#next++] as Notify)();
    }
    this.#running = false;
    if (this.#waiting || this.#notified === 0) return;
    this.#waiting = true;
    setImmediate(this.#nextTurn);
  }

  /** Begins the next round; false when no watcher waits, or the next round has to wait a little longer. */
  #begin(): boolean {
    const restMs =
      this.#startMs === undefined ? 0 : Math.min(maxRestMs, restFactor * (this.#clock.monotonic() - this.#startMs));
    this.#startMs = undefined;
    this.#next = 0;
    this.#round = [];
    // A timer takes a millisecond at least.
    if (restMs >= 1) {
      this.#resting = true;
      this.#clock.setTimer(this.#rested, restMs);
      return false;
    }
    if (this.#later.length === 0) return false;
    this.#round = this.#later;
    this.#later = [];
    return true;
  }

  readonly #nextTurn = (): void => {
    this.#waiting = false;
    this.#notified = 0;
    if (this.#next < this.#round.length) this.#startMs ??= this.#clock.monotonic();
    this.#go();
  };

  readonly #rested = (): void => {
    this.#resting = false;
    this.#go();
  };
}
