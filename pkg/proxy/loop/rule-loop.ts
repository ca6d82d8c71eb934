/** Applies rules to the kernel: incremental changes, and full comparisons at the start and after failures. */

import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ProxyMetrics } from '#proxy/metrics/proxy-metrics.js';

/** The desired rules and the commands to reach them. */
export interface RuleState<Listing, Commands> {
  /** Commands for changes since the last call; undefined if none. Apply them, or call `differences`. */
  takeChange(): Commands | undefined;
  /** Commands from the listing (undefined: nothing) to the desired rules; undefined if equal. */
  differences(listing: Listing | undefined): Commands | undefined;
}

/** Plans the rules. */
export interface RuleSource<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  /** The kernel's rules at the start, before the first `plan`. */
  adopt(listing: Listing | undefined): void;
  /** Updates the state from observed objects. */
  plan(): void;
  /** Called when the planned rules are in the kernel. */
  applied(): Promise<void>;
}

/** The kernel's rules of one source. */
export interface KernelRules<Listing, Commands> {
  /** For logs. */
  readonly name: string;
  /** False if another program has removed them. */
  has(): Promise<boolean>;
  /** Undefined if there are none. */
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
  /** Changes are collected for this long. */
  readonly minSyncPeriodMs: number;
}

const firstRetryMs = 250;
const longestRetryMs = 30_000;

export class RuleLoop<Listing, Commands> {
  readonly #options: RuleLoopOptions<Listing, Commands>;
  readonly #backoff: Backoff;
  readonly #ready: Deferred<void> = deferred();
  /** Since when a change waits to be applied; undefined: none does. */
  #queuedAt: number | undefined;
  #wake: Deferred<void> = deferred();
  /** The kernel's rules may differ from the applied ones. */
  #isUnknown = true;
  #isFirst = true;
  #lastSync = 0;

  constructor(options: RuleLoopOptions<Listing, Commands>) {
    this.#options = options;
    const { random } = options;
    this.#backoff = new Backoff({ initialMs: firstRetryMs, maxMs: longestRetryMs, jitter: 0.2, random });
    this.#ready.promise.catch(() => undefined);
  }

  /** All rules were applied once. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** For health checks, in the clock's `now`; zero and undefined at first. */
  get times(): { readonly lastSync: number; readonly queuedAt: number | undefined } {
    return { lastSync: this.#lastSync, queuedAt: this.#queuedAt };
  }

  /** Requests a plan. */
  changed(): void {
    const { clock, metrics } = this.#options;
    this.#queuedAt ??= clock.now();
    metrics.lastQueued.set(clock.now() / 1000);
    this.#wake.resolve();
  }

  /** Call it once informers have synced. Ends with the signal; the rules stay. */
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
    // Later changes belong to the next round.
    const queuedAt = this.#queuedAt;
    this.#queuedAt = undefined;
    try {
      // Another program may have flushed the rules.
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
