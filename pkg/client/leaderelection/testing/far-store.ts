/**
 * A store behind a bad network, as the lock and the work of a leader see it: requests take long, land after their sender
 * has given up on them, and answers get lost. What lands is decided in one instant, as one transaction of the API
 * server's is.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';
import { leaderFenceHeader, parseLeaderFence, showsTerm } from '#apimachinery/leader-fence.js';
import type { LeaderLock } from '#client/leaderelection/lock.js';
import type { LeaderRecord } from '#client/leaderelection/record.js';

interface Version {
  readonly record: LeaderRecord;
  readonly revision: number;
}

/** The network of the moment. */
export interface Weather {
  /** One way; ms. */
  delayMs(): number;
  /** The answer never comes. */
  losesAnswer(): boolean;
}

export class FarStore {
  /** True time. */
  readonly #clock: Clock;
  readonly #weather: Weather;
  readonly #objects = new Map<string, Version>();
  readonly #expiry = new Map<string, Timer>();
  #revision = 0;

  constructor(clock: Clock, weather: Weather) {
    this.#clock = clock;
    this.#weather = weather;
  }

  /** `at` happens when the request lands, whoever still waits for it; the answer is read by `clock`, the sender's. */
  send<T>(at: () => T, clock: Clock, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(new Error('aborted'));
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      this.#clock.setTimer(() => {
        const outcome = tried(at);
        if (this.#weather.losesAnswer()) return;
        clock.setTimer(() => {
          signal.removeEventListener('abort', abort);
          if ('error' in outcome) reject(outcome.error);
          else resolve(outcome.value);
        }, this.#weather.delayMs());
      }, this.#weather.delayMs());
    });
  }

  /** A lock here, as a candidate with that clock uses it. */
  lock(name: string, clock: Clock): LeaderLock {
    let known: Version | undefined;
    return {
      description: name,
      fence: ({ holderIdentity, leaderTransitions, acquireTime }) => {
        const term = { holderIdentity, leaseTransitions: leaderTransitions, acquireTime };
        return { lock: 'leases', namespace: 'sys', name, ...term };
      },
      read: async (signal) => {
        known = await this.send(() => this.#objects.get(name), clock, signal);
        return known?.record;
      },
      write: async (record, signal) => {
        const expected = known?.revision;
        known = await this.send(
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

  /** A lock that goes away when its holder does not keep it, written once in a term: as one in etcd. */
  expiringLock(name: string, clock: Clock): LeaderLock {
    let known: Version | undefined;
    const still = (version: Version) => this.#objects.get(name)?.revision === version.revision;
    const release = (version: Version, signal: AbortSignal) =>
      this.send(() => void (still(version) && this.remove(name)), clock, signal);
    const acquire = async (record: LeaderRecord, signal: AbortSignal) => {
      known = await this.send(
        () => {
          if (this.#objects.has(name)) throw new Error('somebody was faster');
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
      fence: () => ({ lock: 'etcdleases', namespace: 'sys', name, revision: BigInt(known?.revision ?? 0) }),
      read: async (signal) => {
        known = await this.send(() => this.#objects.get(name), clock, signal);
        return known?.record;
      },
      write: async (record, signal) => {
        const version = known;
        if (version === undefined) return acquire(record, signal);
        if (record.holderIdentity === '') return release(version, signal);
        if (record.holderIdentity !== version.record.holderIdentity) throw new Error('held');
        if (record.acquireTime !== version.record.acquireTime) {
          await release(version, signal);
          return acquire(record, signal);
        }
        const keep = () => {
          if (!still(version)) throw new Error('it has gone');
          this.#expire(name, version);
        };
        await this.send(keep, clock, signal);
      },
    };
  }

  /** The lock goes away so long from now, by this store's clock. */
  #expire(name: string, version: Version): void {
    this.#expiry.get(name)?.cancel();
    const end = () => {
      if (this.#objects.get(name) === version) this.remove(name);
    };
    this.#expiry.set(name, this.#clock.setTimer(end, version.record.leaseDurationSeconds * 1000));
  }

  /** Somebody deletes the lock. */
  remove(name: string): void {
    this.#objects.delete(name);
  }

  /** Whether a write with these headers lands now. */
  lets(headers: Readonly<Record<string, string>>): boolean {
    const fence = parseLeaderFence(headers[leaderFenceHeader] ?? '');
    const version = this.#objects.get(fence.name);
    if (fence.lock === 'etcdleases') return BigInt(version?.revision ?? 0) === fence.revision;
    const record = version?.record;
    return showsTerm(fence, record && { ...record, leaseTransitions: record.leaderTransitions });
  }
}

function tried<T>(at: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: at() };
  } catch (error) {
    return { error };
  }
}
