/** Lists from a sorted view of the cache, or from the store at one revision. */
import type { Cancellation } from '#apimachinery/cancellation.js';
import { CacheEntry, type EntryContext } from '#storage/cache/cache-entry.js';
import type { Entry, ListResult } from '#storage/resource-storage.js';
import type { KeyRange } from '#storage/sorted-map.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Revision, Store } from '#storage/store.js';

/** Selection of a list, with full keys. */
export interface Selection {
  readonly start: string;
  readonly end: string;
  /** 0: all. */
  readonly limit: number;
  readonly match: ((entry: Entry) => boolean) | undefined;
}

/** Common interface of a sorted map and its snapshots. */
export interface SortedEntries {
  slice(range: KeyRange, limit?: number): CacheEntry[];
  count(range: KeyRange): number;
}

/** A page with full keys. */
export interface Page {
  readonly entries: readonly Entry[];
  /** Full key at which the next page starts. */
  readonly next?: string;
  readonly remaining?: number;
  /** Number of examined objects. */
  readonly fetched: number;
}

/** Entries matched between checks for other waiting work. */
const matchSlice = 256;
/** Pairs per read of the store. */
const storePageSize = 500;

/**
 * A page of a view that does not change meanwhile; long scans call `yieldTurn` regularly. Throws a 500 error for an
 * unreadable object, as in 1.24: an incomplete list would be worse.
 */
export async function listView(
  view: SortedEntries,
  selection: Selection,
  yieldTurn: () => Promise<void> | undefined,
): Promise<Page> {
  const { start, end, limit, match } = selection;
  // Other long work may have started in the same turn.
  await yieldTurn();
  if (match === undefined) {
    const entries = view.slice({ start, end }, limit === 0 ? 0 : limit + 1);
    const fetched = entries.length;
    const next = limit === 0 || fetched <= limit ? undefined : entries.pop()?.key;
    for (let i = 0; i < entries.length; i++) {
      if (i % matchSlice === matchSlice - 1) await yieldTurn();
      (entries[i] as CacheEntry).checkReadable();
    }
    return { entries, fetched, ...(next !== undefined && { next, remaining: view.count({ start: next, end }) }) };
  }
  const matching: Entry[] = [];
  const candidates = view.slice({ start, end });
  for (let i = 0; i < candidates.length; i++) {
    if (i % matchSlice === matchSlice - 1) await yieldTurn();
    const entry = candidates[i] as CacheEntry;
    entry.checkReadable();
    if (!match(entry)) continue;
    if (limit !== 0 && matching.length === limit) return { entries: matching, next: entry.key, fetched: i + 1 };
    matching.push(entry);
  }
  return { entries: matching, fetched: candidates.length };
}

export interface StoreListing extends Selection {
  readonly store: Store;
  readonly revision: Revision;
  readonly context: EntryContext;
  /** A cached entry of this revision. */
  readonly cachedAt: (key: string, revision: Revision) => CacheEntry | undefined;
  readonly signal: Cancellation | undefined;
}

/** A page of the store at exactly `revision`. */
export async function listStore(listing: StoreListing): Promise<Page> {
  const { store, end, limit, match, revision, context, cachedAt, signal } = listing;
  const entries: Entry[] = [];
  let start = listing.start;
  let fetched = 0;
  for (;;) {
    const rest = match === undefined && limit !== 0 ? limit - entries.length : storePageSize;
    const pageSize = Math.min(storePageSize, rest);
    const page = await store.range({ start, end, revision, limit: pageSize, ...(signal && { signal }) });
    const more = page.count - page.kvs.length;
    fetched += page.kvs.length;
    for (const [i, kv] of page.kvs.entries()) {
      const { key } = kv;
      const entry = cachedAt(key, kv.modRevision) ?? new CacheEntry(kv, context);
      entry.checkReadable();
      if (match?.(entry) === false) continue;
      entries.push(entry);
      if (entries.length !== limit) continue;
      const behind = page.kvs.length - 1 - i + more;
      if (behind === 0) return { entries, fetched };
      return { entries, fetched, next: `${key}\0`, ...(match === undefined && { remaining: behind }) };
    }
    const last = page.kvs[page.kvs.length - 1];
    if (more <= 0 || last === undefined) return { entries, fetched };
    start = `${last.key}\0`;
  }
}

/** Key range of a scope and a start key below the resource's prefix. */
export function keyRange(prefix: string, scope: string, startKey: string | undefined): { start: string; end: string } {
  const base = prefix + scope;
  const start = startKey === undefined || prefix + startKey < base ? base : prefix + startKey;
  return { start, end: prefixEnd(base) };
}

/** The page with keys relative to the prefix. */
export function listResult(page: Page, prefix: string, revision: Revision): ListResult {
  const { entries, next, remaining } = page;
  return {
    entries,
    revision,
    ...(next !== undefined && { nextKey: next.slice(prefix.length) }),
    ...(remaining !== undefined && { remaining }),
  };
}
