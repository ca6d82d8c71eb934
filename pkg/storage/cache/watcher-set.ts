/**
 * Those who watch one resource. Watches that want one value of a field only (the pods of a node, the object of a name) are
 * found by that value, so that a change does not cost a look at each of them.
 */
import type { Change } from '#storage/cache/event-ring.js';
import type { Watcher } from '#storage/cache/watcher.js';
import type { Entry } from '#storage/resource-storage.js';

interface Group {
  readonly read: (entry: Entry) => string;
  readonly byValue: Map<string, Set<Watcher>>;
}

export class WatcherSet {
  readonly #all = new Set<Watcher>();
  /** Those that are in no group. */
  readonly #others = new Set<Watcher>();
  /** By the name of the field. */
  readonly #groups = new Map<string, Group>();

  get size(): number {
    return this.#all.size;
  }

  add(watcher: Watcher): void {
    this.#all.add(watcher);
    const { only } = watcher.options;
    if (only === undefined) {
      this.#others.add(watcher);
      return;
    }
    const group = this.#groups.get(only.field) ?? { read: only.read, byValue: new Map<string, Set<Watcher>>() };
    this.#groups.set(only.field, group);
    const same = group.byValue.get(only.value) ?? new Set();
    group.byValue.set(only.value, same.add(watcher));
  }

  delete(watcher: Watcher): void {
    this.#all.delete(watcher);
    this.#others.delete(watcher);
    const { only } = watcher.options;
    const group = only && this.#groups.get(only.field);
    const same = group?.byValue.get(only?.value ?? '');
    if (only === undefined || group === undefined || same === undefined) return;
    same.delete(watcher);
    if (same.size === 0) group.byValue.delete(only.value);
    if (group.byValue.size === 0) this.#groups.delete(only.field);
  }

  /** Offers the change to all whom it may concern. */
  offer(change: Change): void {
    const { entry, previous } = change;
    // Nobody knows whom it concerns.
    if (entry.unreadable !== undefined || previous?.unreadable !== undefined) return this.#offerTo(this.#all, change);
    this.#offerTo(this.#others, change);
    for (const { read, byValue } of this.#groups.values()) {
      let value: string;
      let before: string | undefined;
      try {
        value = read(entry);
        before = previous && read(previous);
      } catch {
        // It cannot be decoded, which each of them is told.
        for (const same of byValue.values()) this.#offerTo(same, change);
        continue;
      }
      this.#offerTo(byValue.get(value), change);
      if (before !== undefined && before !== value) this.#offerTo(byValue.get(before), change);
    }
  }

  /** Ends every watch. */
  end(error: unknown): void {
    for (const watcher of this.#all) watcher.end(error);
    this.#all.clear();
    this.#others.clear();
    this.#groups.clear();
  }

  #offerTo(watchers: ReadonlySet<Watcher> | undefined, change: Change): void {
    if (watchers !== undefined) for (const watcher of watchers) watcher.offer(change);
  }
}
