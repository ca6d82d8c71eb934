/**
 * Named copies of a test cluster's whole state.
 *
 * Restoring one writes what differs as new versions: resource versions only grow, watches continue and report the changes,
 * and no client needs a new list. Simulated nodes forget the pods that differ, and start them again as the API describes
 * them. The wall clock of a manual clock is set back too; its timers go on, since no time passes.
 */
import type { ManualClock } from '#apimachinery/time/manual-clock.js';
import {
  applyDifference,
  type Contents,
  differenceOf,
  type Lifetime,
  type Place,
  readContents,
} from '#testcluster/snapshot/contents.js';

export interface SnapshotInfo {
  readonly name: string;
  /** Number of stored objects. */
  readonly objects: number;
  /** The cluster's time; ms since 1970. */
  readonly atMs: number;
}

export interface Restored extends SnapshotInfo {
  /** Objects that were written or deleted. */
  readonly changed: number;
}

export interface SnapshotsOptions {
  /** Each store with objects. */
  readonly places: () => readonly Place[];
  readonly lifetime: Lifetime;
  readonly now: () => number;
  /** Absent: the clock cannot be set. */
  readonly manual?: ManualClock | undefined;
  /** Waits until the cluster is at rest. */
  readonly rest: () => Promise<void>;
  /** Makes the nodes forget pods. `namespace/name`. */
  readonly forgetPods: (keys: readonly string[]) => Promise<void>;
  /** Keeps requests waiting until the returned function is called. */
  readonly hold: () => () => void;
}

interface Snapshot extends SnapshotInfo {
  readonly contents: readonly Contents[];
}

/** Limit of snapshots. Equal objects of several snapshots are held once. */
const maxSnapshots = 100;

export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #byName = new Map<string, Snapshot>();
  /** One change at a time. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  list(): readonly SnapshotInfo[] {
    return [...this.#byName.values()].map(infoOf);
  }

  /** False if there is none of that name. */
  delete(name: string): boolean {
    return this.#byName.delete(name);
  }

  /** Replaces a snapshot of that name. Throws RangeError if there are too many. */
  save(name: string): Promise<SnapshotInfo> {
    return this.#alone(async () => {
      const { places, now } = this.#options;
      if (this.#byName.size >= maxSnapshots && !this.#byName.has(name))
        throw new RangeError(`there are ${maxSnapshots} snapshots already; delete one`);
      const contents = await Promise.all(places().map(readContents));
      const objects = contents.reduce((sum, { pairs }) => sum + pairs.size, 0);
      const snapshot = { name, objects, atMs: now(), contents };
      this.#byName.set(name, snapshot);
      return infoOf(snapshot);
    });
  }

  /** Undefined if there is none of that name. */
  restore(name: string): Promise<Restored | undefined> {
    return this.#alone(async () => {
      const snapshot = this.#byName.get(name);
      if (snapshot === undefined) return undefined;
      await this.#options.rest();
      const resume = this.#options.hold();
      try {
        return { ...infoOf(snapshot), changed: await this.#write(snapshot) };
      } finally {
        resume();
      }
    });
  }

  async #write({ contents, atMs }: Snapshot): Promise<number> {
    const { places, lifetime, manual, forgetPods, now } = this.#options;
    let changed = 0;
    for (const [index, place] of places().entries()) {
      const saved = contents[index];
      if (saved === undefined) continue;
      const pods = podKeys(differenceOf(await readContents(place), saved), place.root);
      if (pods.length > 0) await forgetPods(pods);
      const difference = differenceOf(await readContents(place), saved);
      await applyDifference(place.store, difference, lifetime);
      changed += difference.puts.length + difference.deletions.length;
    }
    manual?.setWallClock(atMs - now());
    return changed;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#before.then(work);
    this.#before = result.catch(() => undefined);
    return result;
  }
}

function infoOf({ name, objects, atMs }: SnapshotInfo): SnapshotInfo {
  return { name, objects, atMs };
}

/** `namespace/name` of the pods in a difference. */
function podKeys({ puts, deletions }: ReturnType<typeof differenceOf>, root: string): string[] {
  const start = `${root}/pods/`;
  const keys = [...puts.map(({ pair }) => pair.key), ...deletions.map(({ key }) => key)];
  return keys.filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
}
