/**
 * The cache's self-check: compares a digest of its content with that of the store at one revision. A difference is a
 * defect of this program or of the store; it is counted and logged, and the cache is filled again.
 */

import { createHash } from 'node:crypto';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CacheState } from '#storage/cache/state.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { prefixEnd } from '#storage/sorted-map.js';
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
  /** Called after a difference. */
  readonly onMismatch: () => void;
}

/** Entries digested between checks for other waiting work. */
const digestSlice = 64;

/** Compares at one revision. Throws StoreErrors if the store does not answer or has compacted the revision. */
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

/** Checks every `periodMs` after changes, until the signal aborts. */
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
      if (!signal.aborted) log.info({ resource, err }, 'cannot compare the watch cache with the store');
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

/** Input of the digest. */
interface Digestible {
  readonly key: string;
  readonly revision: Revision;
  readonly stored: Buffer;
}

/** A digest of keys, revisions and bytes, added in key order. */
class Digest {
  readonly #hash = createHash('sha1');
  count = 0;

  add({ key, revision, stored }: Digestible): void {
    this.#hash.update(`${key}\0${revision}\0${stored.length}\0`);
    this.#hash.update(stored);
    this.count++;
  }

  /** Ends the digest: `<number of objects>:<hash>`. */
  finish(): string {
    return `${this.count}:${this.#hash.digest('hex')}`;
  }
}

/** Small enough that decoding and digesting a page delay no other work. */
const pageSize = 250;

/** The digest of everything below `prefix` in the store at `revision`. Throws StoreErrors. */
async function storeDigest(
  store: Store,
  options: { readonly prefix: string; readonly revision: Revision; readonly signal?: AbortSignal },
): Promise<string> {
  const { prefix, ...rest } = options;
  const digest = new Digest();
  const end = prefixEnd(prefix);
  let start = prefix;
  for (;;) {
    const page = await store.range({ ...rest, start, end, limit: pageSize });
    for (const { key, modRevision, value } of page.kvs) digest.add({ key, revision: modRevision, stored: value });
    const last = page.kvs[page.kvs.length - 1];
    if (last === undefined || page.count <= page.kvs.length) return digest.finish();
    start = `${last.key}\0`;
  }
}
