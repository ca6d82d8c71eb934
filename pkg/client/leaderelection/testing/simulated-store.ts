/**
 * A store behind a bad network, for a leader's lock and work: requests are slow and may land after their sender gave up,
 * and responses get lost. Each request takes effect atomically, like a transaction of the API server.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';
import { leaderFenceHeader, parseLeaderFence, showsTerm } from '#apimachinery/leader-fence.js';
import type { LeaderLock } from '#client/leaderelection/lock.js';
import type { LeaderRecord } from '#client/leaderelection/record.js';

interface Version {
  readonly record: LeaderRecord;
  readonly revision: number;
}

/** Current conditions of the network. */
export interface NetworkConditions {
  /** One way; ms. */
  delayMs(): number;
  /** Whether the response is lost. */
  losesResponse(): boolean;
}

export class SimulatedStore {
  /** True time. */
  readonly #clock: Clock;
  readonly #network: NetworkConditions;
  readonly #objects = new Map<string, Version>();
  readonly #expiry = new Map<string, Timer>();
  #revision = 0;

  constructor(clock: Clock, network: NetworkConditions) {
    this.#clock = clock;
    this.#network = network;
  }

  /** Runs `at` when the request lands, even if its sender gave up. A waiting sender gets the result on its `clock`. */
  send<T>(at: () => T, clock: Clock, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(new Error('aborted'));
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      this.#clock.setTimer(() => {
        const outcome = runAt(at);
        if (this.#network.losesResponse()) return;
        clock.setTimer(() => {
          signal.removeEventListener('abort', abort);
          if ('error' in outcome) reject(outcome.error);
          else resolve(outcome.value);
        }, this.#network.delayMs());
      }, this.#network.delayMs());
    });
  }

  /** A lock in this store, for a candidate with that clock. */
  lock(name: string, clock: Clock): LeaderLock {
    let current: Version | undefined;
    return {
      description: name,
      fence: ({ holderIdentity, leaderTransitions, acquireTime }) => {
        const term = { holderIdentity, leaseTransitions: leaderTransitions, acquireTime };
        return { lock: 'leases', namespace: 'sys', name, ...term };
      },
      read: async (signal) => {
        current = await this.send(() => this.#objects.get(name), clock, signal);
        return current?.record;
      },
      write: async (record, signal) => {
        const expected = current?.revision;
        current = await this.send(
          () => {
            if (this.#objects.get(name)?.revision !== expected) throw new Error('conflict');
            this.#revision += 1;
            const version = { record, revision: this.#revision };
            this.#objects.set(name, version);
            return version;
          },
          clock,
          signal,
        );
      },
    };
  }

  /** A lock that disappears unless its holder keeps it alive, and is written once per term, like one in etcd. */
  expiringLock(name: string, clock: Clock): LeaderLock {
    let current: Version | undefined;
    const isCurrent = (version: Version) => this.#objects.get(name)?.revision === version.revision;
    const release = (version: Version, signal: AbortSignal) =>
      this.send(() => void (isCurrent(version) && this.remove(name)), clock, signal);
    const acquire = async (record: LeaderRecord, signal: AbortSignal) => {
      current = await this.send(
        () => {
          if (this.#objects.has(name)) throw new Error('another candidate was faster');
          this.#revision += 1;
          const version = { record, revision: this.#revision };
          this.#objects.set(name, version);
          this.#expire(name, version);
          return version;
        },
        clock,
        signal,
      );
    };
    return {
      description: name,
      selfExpiring: true,
      fence: () => ({ lock: 'etcdleases', namespace: 'sys', name, revision: BigInt(current?.revision ?? 0) }),
      read: async (signal) => {
        current = await this.send(() => this.#objects.get(name), clock, signal);
        return current?.record;
      },
      write: async (record, signal) => {
        const version = current;
        if (version === undefined) return acquire(record, signal);
        if (record.holderIdentity === '') return release(version, signal);
        if (record.holderIdentity !== version.record.holderIdentity) throw new Error('held');
        if (record.acquireTime !== version.record.acquireTime) {
          await release(version, signal);
          return acquire(record, signal);
        }
        const keep = () => {
          if (!isCurrent(version)) throw new Error('the lock is gone');
          this.#expire(name, version);
        };
        await this.send(keep, clock, signal);
      },
    };
  }

  /** Removes the lock after its duration on this store's clock. */
  #expire(name: string, version: Version): void {
    this.#expiry.get(name)?.cancel();
    const end = () => {
      if (this.#objects.get(name) === version) this.remove(name);
    };
    this.#expiry.set(name, this.#clock.setTimer(end, version.record.leaseDurationSeconds * 1000));
  }

  /** Deletes the lock. */
  remove(name: string): void {
    this.#objects.delete(name);
  }

  /** Whether a write with these headers is accepted now. */
  accepts(headers: Readonly<Record<string, string>>): boolean {
    const fence = parseLeaderFence(headers[leaderFenceHeader] ?? '');
    const version = this.#objects.get(fence.name);
    if (fence.lock === 'etcdleases') return BigInt(version?.revision ?? 0) === fence.revision;
    const record = version?.record;
    return showsTerm(fence, record && { ...record, leaseTransitions: record.leaderTransitions });
  }
}

function runAt<T>(at: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: at() };
  } catch (error) {
    return { error };
  }
}
