/** The cache's regular comparison of itself with the store. */

import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CacheState } from '#storage/cache/state.js';
import { Digest, storeDigest } from '#storage/digest.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type { Revision, Store } from '#storage/store.js';

export interface SelfCheckOptions {
  readonly store: Store;
  readonly state: CacheState;
  readonly prefix: string;
  readonly resource: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  readonly turns: TurnQueue;
  /** Called when the two differ. */
  readonly onMismatch: () => void;
}

/** Entries digested between looks at whether others should have a turn. */
const digestSlice = 64;

/** Compares at one revision. Throws StoreErrors when the store does not answer or has forgotten that revision. */
export async function selfCheck(options: SelfCheckOptions, signal: AbortSignal): Promise<boolean> {
  const { store, state, prefix, resource, log, metrics } = options;
  const { revision } = state;
  const cached = await cacheDigest(options);
  const stored = await storeDigest(store, { prefix, revision, signal });
  if (cached === stored) return true;
  metrics.digestMismatches.inc({ resource });
  log.error({ resource, revision: String(revision), cached, stored }, 'the watch cache differs from the store');
  options.onMismatch();
  return false;
}

/** Checks every `periodMs`, if anything has changed since, until the signal aborts. */
export async function selfCheckRegularly(
  options: SelfCheckOptions,
  periodMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, resource, state } = options;
  let checked: Revision = 0n;
  for (;;) {
    await clock.sleep(periodMs, signal);
    if (signal.aborted) return;
    const { filled, changedAt } = state;
    if (!filled || changedAt === checked) continue;
    try {
      await selfCheck(options, signal);
      checked = changedAt;
    } catch (err) {
      if (!signal.aborted) log.info({ resource, err }, 'cannot compare the watch cache with the store now');
    }
  }
}

async function cacheDigest({ state, turns }: SelfCheckOptions): Promise<string> {
  const view = state.entries.snapshot();
  const digest = new Digest();
  for (const [i, entry] of view.slice({}).entries()) {
    if (i % digestSlice === digestSlice - 1) await turns.pause();
    digest.add(entry);
  }
  return digest.finish();
}
