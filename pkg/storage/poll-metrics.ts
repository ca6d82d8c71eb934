/** Metrics that are polled, as in 1.24. */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type { Store } from '#storage/store.js';

/** A filled cache. */
export interface Counted {
  /** `pods`, `deployments.apps`. */
  readonly resource: string;
  readonly size: number;
  ready(): boolean;
}

export interface PollOptions {
  readonly stores: readonly Store[];
  readonly caches: readonly Counted[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  /** 0: never; 1.24's `--etcd-count-metric-poll-period`. */
  readonly countPeriodMs: number;
  /** 0: never; 1.24's `--etcd-db-metric-poll-interval`. */
  readonly sizePeriodMs: number;
}

/** Runs until the signal aborts. */
export async function pollMetrics(options: PollOptions, signal: AbortSignal): Promise<void> {
  const { countPeriodMs, sizePeriodMs } = options;
  await Promise.all([
    every(options.clock, countPeriodMs, signal, async () => count(options)),
    every(options.clock, sizePeriodMs, signal, () => measure(options, signal)),
  ]);
}

async function every(clock: Clock, periodMs: number, signal: AbortSignal, poll: () => Promise<void>): Promise<void> {
  if (periodMs <= 0) return;
  while (!signal.aborted) {
    await poll();
    await clock.sleep(periodMs, signal);
  }
}

function count({ caches, metrics }: PollOptions): void {
  for (const cache of caches) if (cache.ready()) metrics.objects.set({ resource: cache.resource }, cache.size);
}

async function measure({ stores, metrics, log }: PollOptions, signal: AbortSignal): Promise<void> {
  for (const store of stores) {
    try {
      for (const [endpoint, bytes] of await store.sizes(signal)) metrics.dbTotalSize.set({ endpoint }, bytes);
    } catch (err) {
      if (!signal.aborted) log.info({ err }, 'cannot ask the store for its size');
    }
  }
}
