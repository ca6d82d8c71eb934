/**
 * Leases for keys that expire. Keys that expire at about the same time share a lease, since each lease costs etcd a
 * write and a timer. Limits: 1.24's lease manager.
 */
import type { Clock } from '#apimachinery/clock.js';

export interface LeasePoolOptions {
  readonly clock: Clock;
  /** Creates a lease and returns its ID. */
  readonly grant: (ttlSeconds: number) => Promise<bigint>;
  /** Limit of the additional lifetime of a key, which is a share of its time to live. */
  readonly reuseMaxSeconds: number;
  /** Called with a lease's number of keys once it takes no more. */
  readonly retired: (keys: number) => void;
}

const reusePart = 0.05;
const maxKeysPerLease = 1000;
/** Limit of cached times to live. */
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

  /** The ID of a lease that ends in `ttlSeconds` or a little later. */
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

  /** Drops the lease for this time to live: it no longer exists. */
  forget(ttlSeconds: number): void {
    this.#byTtl.delete(ttlSeconds);
  }
}
