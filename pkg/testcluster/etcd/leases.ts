/** Leases of etcd's API: keys that end together. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { MemoryStore } from '#storage/memory/memory-store.js';
import { leaseExists, leaseNotFound, leaseTooLong } from '#testcluster/etcd/errors.js';

interface Lease {
  readonly id: bigint;
  readonly grantedSeconds: number;
  endsMs: number;
  timer: Timer;
  readonly keys: Set<string>;
}

export interface LeaseOptions {
  readonly store: MemoryStore;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Limits of etcd. */
const minSeconds = 2;
const maxSeconds = 9_000_000_000;

export class Leases {
  readonly #options: LeaseOptions;
  readonly #leases = new Map<bigint, Lease>();
  /** Lease by key. */
  readonly #held = new Map<string, Lease>();

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  get ids(): bigint[] {
    return [...this.#leases.keys()];
  }

  /** @param id 0: a new one. Throws for one that exists and for too long times. */
  grant(id: bigint, seconds: number): { readonly id: bigint; readonly seconds: number } {
    if (seconds > maxSeconds) throw leaseTooLong();
    const own = id === 0n ? this.#newId() : id;
    if (this.#leases.has(own)) throw leaseExists();
    const grantedSeconds = Math.max(seconds, minSeconds);
    const { clock } = this.#options;
    const lease: Lease = {
      ...{ id: own, grantedSeconds, keys: new Set(), endsMs: clock.now() + grantedSeconds * 1000 },
      timer: clock.setTimer(() => this.#end(lease), grantedSeconds * 1000),
    };
    this.#leases.set(own, lease);
    return { id: own, seconds: grantedSeconds };
  }

  /** Seconds that it has again; 0 for one that does not exist. */
  keepAlive(id: bigint): number {
    const lease = this.#leases.get(id);
    if (lease === undefined) return 0;
    const { clock } = this.#options;
    lease.timer.cancel();
    lease.endsMs = clock.now() + lease.grantedSeconds * 1000;
    lease.timer = clock.setTimer(() => this.#end(lease), lease.grantedSeconds * 1000);
    return lease.grantedSeconds;
  }

  /** Deletes its keys. Throws for one that does not exist. */
  revoke(id: bigint): void {
    this.#end(this.#required(id));
  }

  /** Undefined for one that does not exist. */
  look(id: bigint): { readonly leftSeconds: number; readonly grantedSeconds: number; keys: string[] } | undefined {
    const lease = this.#leases.get(id);
    if (lease === undefined) return undefined;
    const { grantedSeconds, endsMs, keys } = lease;
    return { grantedSeconds, leftSeconds: Math.ceil((endsMs - this.#options.clock.now()) / 1000), keys: [...keys] };
  }

  /** Throws for one that does not exist. */
  require(id: bigint): void {
    this.#required(id);
  }

  /** Lease of the key; 0: none. */
  of(key: string): bigint {
    return this.#held.get(key)?.id ?? 0n;
  }

  /** Makes the key end with the lease; 0: with none. */
  attach(key: string, id: bigint): void {
    this.detach(key);
    if (id === 0n) return;
    const lease = this.#required(id);
    lease.keys.add(key);
    this.#held.set(key, lease);
  }

  detach(key: string): void {
    this.#held.get(key)?.keys.delete(key);
    this.#held.delete(key);
  }

  close(): void {
    for (const { timer } of this.#leases.values()) timer.cancel();
  }

  #required(id: bigint): Lease {
    const lease = this.#leases.get(id);
    if (lease === undefined) throw leaseNotFound();
    return lease;
  }

  #end(lease: Lease): void {
    lease.timer.cancel();
    this.#leases.delete(lease.id);
    for (const key of lease.keys) this.#held.delete(key);
    if (lease.keys.size === 0) return;
    this.#options.store.transact((write) => {
      for (const key of [...lease.keys].sort()) write.delete(key);
    });
  }

  /** Positive, as etcd's. */
  #newId(): bigint {
    for (;;) {
      const id = BigInt(Math.floor(this.#options.random() * 2 ** 53)) << 10n;
      if (id !== 0n && !this.#leases.has(id)) return id;
    }
  }
}
