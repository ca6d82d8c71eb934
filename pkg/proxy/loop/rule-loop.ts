/** Keeps rules of the kernel as they are to be: a change as it comes, and all of it after a failure or at a start. */

import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ProxyMetrics } from '#proxy/metrics/proxy-metrics.js';

/** What is to be in the kernel, and the commands that bring it there. */
export interface RuleState<Listing, Commands> {
  /** For what has changed since the last call; undefined: nothing. They must reach the kernel, or `differences` be asked. */
  takeChange(): Commands | undefined;
  /** That make of what the kernel has (undefined: nothing) what it is to have; undefined: it has it. */
  differences(listing: Listing | undefined): Commands | undefined;
}

/** Who says what is to be in the kernel. */
export interface RuleSource<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  /** What the kernel had at the start, before the first `plan`. */
  adopt(listing: Listing | undefined): void;
  /** Brings the state up to date with what was observed. */
  plan(): void;
  /** The kernel has what was planned. */
  applied(): Promise<void>;
}

/** The kernel, as far as the rules of one source go. */
export interface KernelRules<Listing, Commands> {
  /** For people. */
  readonly name: string;
  /** False when somebody has taken them away. */
  has(): Promise<boolean>;
  /** Undefined where there are none. */
  list(): Promise<Listing | undefined>;
  apply(commands: Commands): Promise<void>;
}

export interface RuleLoopOptions<Listing, Commands> {
  readonly source: RuleSource<Listing, Commands>;
  readonly kernel: KernelRules<Listing, Commands>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: ProxyMetrics;
  /** How often to check that the rules still exist. */
  readonly syncPeriodMs: number;
  /** Changes wait until the last ones are that old. */
  readonly minSyncPeriodMs: number;
}

const firstRetryMs = 250;
const longestRetryMs = 30_000;

export class RuleLoop<Listing, Commands> {
  readonly #options: RuleLoopOptions<Listing, Commands>;
  readonly #backoff: Backoff;
  readonly #ready: Deferred<void> = deferred();
  /** Since when something waits to be brought to the kernel; undefined: nothing does. */
  #queuedAt: number | undefined;
  #wake: Deferred<void> = deferred();
  /** The kernel may have something else than was brought there. */
  #isUnknown = true;
  #isFirst = true;
  #lastSync = 0;

  constructor(options: RuleLoopOptions<Listing, Commands>) {
    this.#options = options;
    const { random } = options;
    this.#backoff = new Backoff({ initialMs: firstRetryMs, maxMs: longestRetryMs, jitter: 0.2, random });
    this.#ready.promise.catch(() => undefined);
  }

  /** The kernel has had everything once. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** For health: milliseconds of the clock's `now`; zero and undefined until there are some. */
  get times(): { readonly lastSync: number; readonly queuedAt: number | undefined } {
    return { lastSync: this.#lastSync, queuedAt: this.#queuedAt };
  }

  /** There is something to plan. */
  changed(): void {
    const { clock, metrics } = this.#options;
    this.#queuedAt ??= clock.now();
    metrics.lastQueued.set(clock.now() / 1000);
    this.#wake.resolve();
  }

  /** To be called when everything was observed. Ends with the signal; the rules stay. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics, minSyncPeriodMs, syncPeriodMs } = this.#options;
    const onAbort = () => this.#wake.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted) {
        try {
          await this.#sync();
          this.#backoff.reset();
          this.#ready.resolve();
          const wake = this.#wake;
          const timer = clock.setTimer(() => wake.resolve(), syncPeriodMs);
          if (!signal.aborted) await wake.promise;
          timer.cancel();
          await clock.sleep(minSyncPeriodMs, signal);
        } catch (error) {
          metrics.failures.inc();
          this.#isUnknown = true;
          const retryMs = this.#backoff.nextMs();
          log.error({ err: error, retryMs: Math.round(retryMs) }, 'cannot update kernel rules; retrying');
          await clock.sleep(retryMs, signal);
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#ready.reject(new Error('the proxy was stopped before it was ready'));
    }
  }

  async #sync(): Promise<void> {
    const { clock, kernel, log, metrics, source } = this.#options;
    const started = clock.monotonic();
    this.#wake = deferred();
    // From here on changes are those of the next time.
    const queuedAt = this.#queuedAt;
    this.#queuedAt = undefined;
    try {
      // Somebody may have flushed everything.
      const isLookedFor = queuedAt === undefined && !this.#isUnknown;
      if (isLookedFor && !(await kernel.has())) {
        log.warn({ table: kernel.name }, 'kernel rules were removed; restoring them');
        this.#isUnknown = true;
      }
      let commands: Commands | undefined;
      if (this.#isUnknown) {
        const listing = await kernel.list();
        if (this.#isFirst) source.adopt(listing);
        this.#isFirst = false;
        metrics.fullSyncs.inc();
        source.plan();
        commands = source.state.differences(listing);
      } else {
        source.plan();
        commands = source.state.takeChange();
      }
      if (commands !== undefined) await kernel.apply(commands);
      this.#isUnknown = false;
      await source.applied();
      if (commands !== undefined) metrics.syncSeconds.observe((clock.monotonic() - started) / 1000);
      this.#lastSync = clock.now();
      metrics.lastSync.set(clock.now() / 1000);
    } catch (error) {
      this.#queuedAt ??= queuedAt ?? clock.now();
      throw error;
    }
  }
}
