/**
 * Leads at once and without a lock while there is only one server, whose start need not wait for a lease then and whose
 * disk has no renewals to keep. When the cluster is opened to more servers it takes the lock without an end of its work,
 * and from then on it leads only while it holds that.
 */
import type { Registry } from 'prom-client';
import { deferred } from '#apimachinery/async/deferred.js';
import { shared } from '#apimachinery/async/shared-signal.js';
import type { Clock } from '#apimachinery/clock.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import type { LeaderLock } from '#client/leaderelection/lock.js';
import type { WriteFence } from '#client/rest/rest-client.js';
import type { Leadership } from '#control-loop/leader-loop.js';
import type { Logger } from '#daemon/log/logger.js';

export interface LateLeadershipOptions {
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

/** The defaults of the daemons; ms. */
const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };

export class LateLeadership implements Leadership {
  readonly #options: LateLeadershipOptions;
  readonly #opened = deferred<LeaderElector>();
  readonly #leads = deferred();
  #elector: LeaderElector | undefined;
  /** Its work began without the lock, which it has not held yet. */
  #wasAlone = false;

  constructor(options: LateLeadershipOptions) {
    this.#options = options;
  }

  get leadsAtOnce(): boolean {
    return this.#elector === undefined;
  }

  /**
   * Ends the time in which it is alone. Resolves when it holds the lock for the first time.
   * @param identity Unique among the servers. The same at the next start, which takes up what it held itself at once.
   */
  elect(identity: string): Promise<void> {
    if (this.#elector === undefined) {
      this.#elector = new LeaderElector({
        ...this.#options,
        ...times,
        identity,
        onTerm: () => {
          this.#wasAlone = false;
          this.#leads.resolve();
        },
      });
      this.#opened.resolve(this.#elector);
    }
    return this.#leads.promise;
  }

  async lead(work: Work, signal: AbortSignal): Promise<void> {
    if (this.#elector !== undefined) return this.#elector.run(work, signal);
    this.#wasAlone = true;
    const end = new AbortController();
    const abort = () => end.abort();
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    const working = work(shared(end.signal));
    working.catch(() => undefined);
    try {
      const elector = await Promise.race([this.#opened.promise, working.then(() => undefined)]);
      if (elector === undefined) return;
      let first: Promise<void> | undefined = working;
      await elector.run(async (term) => {
        const goingOn = first;
        first = undefined;
        if (goingOn === undefined) return work(term);
        // What runs already goes on as the work of the first term, and ends with it.
        term.addEventListener('abort', abort, { once: true });
        if (term.aborted) abort();
        return goingOn;
      }, signal);
      await first;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Of the writes of the work. As long as it has been alone nobody else can have led. */
  readonly fence: WriteFence = () => (this.#wasAlone ? {} : (this.#elector?.fence() ?? {}));
}
