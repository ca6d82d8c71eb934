/** Recent states, from which the later pages of a list are read in memory. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { CacheEntry } from '#storage/cache/cache-entry.js';
import type { SortedView } from '#storage/sorted-map.js';
import type { Revision } from '#storage/store.js';

export interface Snapshot {
  readonly view: SortedView<CacheEntry>;
  /** The resource did not change between these two revisions. */
  readonly changedAt: Revision;
  readonly revision: Revision;
}

export interface SnapshotsOptions {
  readonly clock: Clock;
  /** Limit of snapshots; the oldest is dropped. */
  readonly capacity: number;
  readonly maxAgeMs: number;
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #kept: { readonly snapshot: Snapshot; readonly timer: Timer }[] = [];

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  /** The snapshot for `revision`, if available. */
  at(revision: Revision): Snapshot | undefined {
    return this.#kept.find(({ snapshot }) => snapshot.changedAt <= revision && revision <= snapshot.revision)?.snapshot;
  }

  add(snapshot: Snapshot): void {
    const { clock, capacity, maxAgeMs } = this.#options;
    if (this.at(snapshot.revision) !== undefined) return;
    if (this.#kept.length >= capacity) this.#kept.shift()?.timer.cancel();
    const timer = clock.setTimer(() => this.#drop(snapshot), maxAgeMs);
    this.#kept.push({ snapshot, timer });
  }

  clear(): void {
    for (const { timer } of this.#kept.splice(0)) timer.cancel();
  }

  #drop(snapshot: Snapshot): void {
    const at = this.#kept.findIndex((kept) => kept.snapshot === snapshot);
    if (at >= 0) this.#kept.splice(at, 1);
  }
}
