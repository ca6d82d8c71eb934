/**
 * Leases for keys that expire. Keys that expire at about the same time share one, since each costs etcd a write and a
 * timer. The bounds are those of 1.24's lease manager.
 */
import type { Clock } from '#apimachinery/clock.js';

export interface LeasePoolOptions {
  readonly clock: Clock;
  /** Creates a lease and returns its id. */
  readonly grant: (ttlSeconds: number) => Promise<bigint>;
  /** A key may live longer than it should by a part of its time, and never by more than this. */
  readonly reuseMaxSeconds: number;
  /** Told of the number of keys of a lease that takes no more. */
  readonly retired: (keys: number) => void;
}

const reusePart = 0.05;
const maxKeysPerLease = 1000;
/** Distinct times to live remembered. */
const maxLeases = 64;

interface Shared {
  readonly id: Promise<bigint>;
  readonly reuseUntilMs: number;
  keys: number;
}

export class LeasePool {
  readonly #options: LeasePoolOptions;
  readonly #byTtl = new Map<number, Shared>();

  constructor(options: LeasePoolOptions) {
    this.#options = options;
  }

  /** The id of a lease that ends in `ttlSeconds` or a little later. */
  async take(ttlSeconds: number): Promise<bigint> {
    const nowMs = this.#options.clock.monotonic();
    const shared = this.#byTtl.get(ttlSeconds);
    if (shared !== undefined && nowMs < shared.reuseUntilMs && shared.keys < maxKeysPerLease) {
      shared.keys++;
      return shared.id;
    }
    const { reuseMaxSeconds, retired } = this.#options;
    if (shared !== undefined) retired(shared.keys);
    const reuseSeconds = Math.min(Math.floor(ttlSeconds * reusePart), reuseMaxSeconds);
    const id = this.#options.grant(ttlSeconds + reuseSeconds);
    this.#byTtl.delete(ttlSeconds);
    if (reuseSeconds > 0) {
      const [oldest] = this.#byTtl.keys();
      if (this.#byTtl.size >= maxLeases && oldest !== undefined) this.#byTtl.delete(oldest);
      this.#byTtl.set(ttlSeconds, { id, reuseUntilMs: nowMs + reuseSeconds * 1000, keys: 1 });
    }
    try {
      return await id;
    } catch (err) {
      this.forget(ttlSeconds);
      throw err;
    }
  }

  /** The lease for that time is of no use any more. */
  forget(ttlSeconds: number): void {
    this.#byTtl.delete(ttlSeconds);
  }
}
