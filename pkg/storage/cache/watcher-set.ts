/**
 * Those who watch one resource. Watches that select the same share a log of events. Those that want one value of a field
 * only (the pods of a node, the object of a name) are found by that value, so that a change does not cost a look at each.
 */
import type { Change } from '#storage/cache/event-ring.js';
import { WatchLog } from '#storage/cache/watch-log.js';
import type { Watcher } from '#storage/cache/watcher.js';
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
