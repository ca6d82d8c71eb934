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
  /** Filters by the first segment of keys below the prefix; absent: all. */
  readonly segments?: SegmentFilter | undefined;
}

interface SegmentFilter {
  /** Of all keys; ends with a slash. */
  readonly prefix: string;
  readonly admits: (segment: string) => boolean;
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
  const { start, end, limit, match, segments } = selection;
  if (segments !== undefined) return listSegments(view, { ...selection, segments }, yieldTurn);
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

/** Segments between checks for other waiting work. */
const segmentSlice = 64;

/** Jumps from the keys of one segment to those of the next, and reads those of admitted segments. */
async function listSegments(
  view: SortedEntries,
  selection: Selection & { readonly segments: SegmentFilter },
  yieldTurn: () => Promise<void> | undefined,
): Promise<Page> {
  const { end, limit, match, segments } = selection;
  const entries: Entry[] = [];
  let { start } = selection;
  let fetched = 0;
  for (let visited = 0; ; visited++) {
    if (visited % segmentSlice === 0) await yieldTurn();
    const [first] = view.slice({ start, end }, 1);
    if (first === undefined) return { entries, fetched };
    const segment = firstSegment(first.key, segments.prefix);
    const behind = endOfSegment(first.key, segments.prefix, segment);
    if (segments.admits(segment)) {
      const room = limit === 0 ? 0 : limit - entries.length;
      const range = { start: first.key, end: behind, limit: room, match };
      const page = await listView(view, range, yieldTurn);
      fetched += page.fetched;
      for (const entry of page.entries) entries.push(entry);
      if (page.next !== undefined) return { entries, fetched, next: page.next };
      // The next page begins with an admitted segment, if there is one: its first key tells of no other segment.
      if (limit !== 0 && entries.length === limit) return { entries, fetched, ...nextOf(view, selection, behind) };
    }
    start = behind;
  }
}

/** The first key from `start` on whose segment is admitted. */
function nextOf(
  view: SortedEntries,
  { end, segments }: Selection & { readonly segments: SegmentFilter },
  start: string,
): { readonly next?: string } {
  for (let from = start; ; ) {
    const [first] = view.slice({ start: from, end }, 1);
    if (first === undefined) return {};
    const segment = firstSegment(first.key, segments.prefix);
    if (segments.admits(segment)) return { next: first.key };
    from = endOfSegment(first.key, segments.prefix, segment);
  }
}

/** The segment after the prefix: a namespace, or the name of an object without one. */
export function firstSegment(key: string, prefix: string): string {
  const slash = key.indexOf('/', prefix.length);
  return slash < 0 ? key.slice(prefix.length) : key.slice(prefix.length, slash);
}

/** The first key after those of the segment. */
function endOfSegment(key: string, prefix: string, segment: string): string {
  const whole = prefix + segment;
  return key.length === whole.length ? `${key}\0` : prefixEnd(`${whole}/`);
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
  const { store, end, limit, revision, context, cachedAt, signal } = listing;
  const match = storeMatch(listing);
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

/** Both filters in one. */
function storeMatch({ match, segments }: Selection): Selection['match'] {
  if (segments === undefined) return match;
  const { prefix, admits } = segments;
  let last: { readonly segment: string; readonly admitted: boolean } | undefined;
  return (entry) => {
    const segment = firstSegment(entry.key, prefix);
    if (last?.segment !== segment) last = { segment, admitted: admits(segment) };
    return last.admitted && match?.(entry) !== false;
  };
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
