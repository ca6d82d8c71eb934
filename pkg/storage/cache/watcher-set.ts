/**
 * The watchers of a resource, and when they are notified of a change. Watchers with equal selections share a log of
 * events. Watchers that select one value of a field (pods of a node, an object by name) are indexed by it, so a change
 * does not cost a test of each.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Change } from '#storage/cache/event-ring.js';
import { type Watcher, WatchLog } from '#storage/cache/watcher.js';
import type { Entry } from '#storage/resource-storage.js';

/** Logs by selection; a watcher without a shared selection is its own key. */
type Logs = Map<string | Watcher, WatchLog>;

interface Group {
  readonly read: (entry: Entry) => string;
  readonly byValue: Map<string, Logs>;
}

export class WatcherSet {
  readonly #all = new Set<Watcher>();
  /** Watchers without a group. */
  readonly #others: Logs = new Map();
  /** By field name. */
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

  /** Passes the change to all logs that may select it. */
  offer(change: Change): void {
    const { entry, previous } = change;
    offerTo(this.#others, change);
    // The field values of an unreadable object are unknown.
    const concernsAll = entry.unreadable !== undefined || previous?.unreadable !== undefined;
    for (const { read, byValue } of this.#groups.values()) {
      const values = concernsAll ? undefined : valuesOf(change, read);
      if (values === undefined) for (const logs of byValue.values()) offerTo(logs, change);
      else for (const value of values) offerTo(byValue.get(value), change);
    }
  }

  /** Ends all watches. */
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

/** New and previous value of the field; undefined if undecodable, which concerns every watcher. */
function valuesOf({ entry, previous }: Change, read: Group['read']): ReadonlySet<string> | undefined {
  try {
    const values = new Set([read(entry)]);
    return previous === undefined ? values : values.add(read(previous));
  } catch {
    return undefined;
  }
}

/** Limit of notifications per turn, which take some tens of microseconds each. */
const batchSize = 64;
/** Pause after a round of several turns, in multiples of its duration, with an upper limit. */
const restFactor = 2;
const maxRestMs = 20;

type Notify = () => void;

/**
 * Notifies many watchers over several turns of the event loop, to not block it.
 * Watchers that are notified together form a round. A watcher with news during a round comes in the next one, and a
 * round of several turns is followed by a pause: frequent events thus reach many watchers in batches, which cost hardly
 * more than single events. Few watchers are always notified immediately.
 */
export class NotificationQueue {
  readonly #clock: Clock;
  /** The current round; watchers before `#next` have been notified. */
  #round: Notify[] = [];
  #next = 0;
  #nextRound: Notify[] = [];
  /** Number of notifications in the current turn. */
  #notified = 0;
  #gathering = 0;
  #running = false;
  /** True while a turn or the end of a pause is scheduled. */
  #waiting = false;
  #resting = false;
  /** Time at which the current round needed a second turn. */
  #startMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `notify` now, or in a later turn after earlier ones; never before `gather` ends. */
  add(notify: Notify): void {
    this.#nextRound.push(notify);
    if (this.#gathering === 0) this.#go();
  }

  /** Watchers with several events during `work` are notified once, after it. */
  gather(work: () => void): void {
    this.#gathering++;
    try {
      work();
    } finally {
      this.#gathering--;
    }
    if (this.#gathering === 0 && this.#nextRound.length > 0) this.#go();
  }

  #go(): void {
    if (this.#running || this.#resting) return;
    this.#running = true;
    while (this.#notified < batchSize && !this.#resting) {
      if (this.#next === this.#round.length && !this.#begin()) break;
      this.#notified++;
      // Loop by index, since a notified watcher may cause more notifications.
      (this.#round[this.#next++] as Notify)();
    }
    this.#running = false;
    if (this.#waiting || this.#notified === 0) return;
    this.#waiting = true;
    setImmediate(this.#nextTurn);
  }

  /** Starts the next round; false without waiting watchers or during a pause. */
  #begin(): boolean {
    const restMs =
      this.#startMs === undefined ? 0 : Math.min(maxRestMs, restFactor * (this.#clock.monotonic() - this.#startMs));
    this.#startMs = undefined;
    this.#next = 0;
    this.#round = [];
    // A timer takes at least a millisecond.
    if (restMs >= 1) {
      this.#resting = true;
      this.#clock.setTimer(this.#rested, restMs);
      return false;
    }
    if (this.#nextRound.length === 0) return false;
    this.#round = this.#nextRound;
    this.#nextRound = [];
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
