/**
 * Leadership of the loops. A single server leads at once and without a lock: its start does not wait for a lease, and no
 * renewals are written. When the cluster is opened to more servers, the server acquires the lock while its work continues,
 * and from then on leads only while it holds the lock.
 */
import type { Registry } from 'prom-client';
import { allowManyListeners } from '#apimachinery/async/abort.js';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import type { LeaderLock } from '#client/leaderelection/lock.js';
import type { WriteFence } from '#client/rest/rest-client.js';
import type { Leadership } from '#control-loop/leader-loop.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ElectableLeadershipOptions {
  readonly lock: LeaderLock;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics?: Registry;
  /** Label of the series. */
  readonly name: string;
}

type Work = (signal: AbortSignal) => Promise<void>;

/** Defaults of the daemons; ms. */
const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };

export class ElectableLeadership implements Leadership {
  readonly #options: ElectableLeadershipOptions;
  readonly #opened = deferred<LeaderElector>();
  readonly #leads = deferred();
  #elector: LeaderElector | undefined;
  /** True while the work runs without the lock, which is not acquired yet. */
  #isUnlocked = false;

  constructor(options: ElectableLeadershipOptions) {
    this.#options = options;
  }

  get leadsAtOnce(): boolean {
    return this.#elector === undefined;
  }

  /**
   * Makes the lock necessary. Resolves when the lock is acquired for the first time.
   * @param identity Unique among the servers, and the same at each start: a restarted server resumes its own lease.
   */
  elect(identity: string): Promise<void> {
    if (this.#elector === undefined) {
      this.#elector = new LeaderElector({
        ...this.#options,
        ...times,
        identity,
        onTerm: () => {
          this.#isUnlocked = false;
          this.#leads.resolve();
        },
      });
      this.#opened.resolve(this.#elector);
    }
    return this.#leads.promise;
  }

  async lead(work: Work, signal: AbortSignal): Promise<void> {
    if (this.#elector !== undefined) return this.#elector.run(work, signal);
    this.#isUnlocked = true;
    const end = new AbortController();
    const abort = () => end.abort();
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    const working = work(allowManyListeners(end.signal));
    working.catch(() => undefined);
    try {
      const elector = await Promise.race([this.#opened.promise, working.then(() => undefined)]);
      if (elector === undefined) return;
      let first: Promise<void> | undefined = working;
      await elector.run(async (term) => {
        const running = first;
        first = undefined;
        if (running === undefined) return work(term);
        // The running work becomes the work of the first term, and ends with it.
        term.addEventListener('abort', abort, { once: true });
        if (term.aborted) abort();
        return running;
      }, signal);
      await first;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Fence of the work's writes. None is needed before the lock is acquired: no other server exists. */
  readonly fence: WriteFence = () => (this.#isUnlocked ? {} : (this.#elector?.fence() ?? {}));
}
