/** Changes that happened before a cache was filled, put together from the store's history. */
import { CacheEntry, type EntryContext } from '#storage/cache/cache-entry.js';
import { Change } from '#storage/cache/event-ring.js';
import { keyOf, type Revision, revisionOf, type StoreEvent } from '#storage/store.js';

export interface StoreHistory {
  /** Every write of the resource after this revision is in `events`. */
  readonly since: Revision;
  /** In the order of their revisions, with what was there before (`WatchOptions.previous`). */
  readonly events: readonly StoreEvent[];
  readonly context: EntryContext;
}

/**
 * The changes, and the revision after which they are complete: later than `since` where the store has already forgotten
 * what was there before, without which nobody can say what a change means to those who select.
 */
export function changesOfHistory(
  { since, events, context }: StoreHistory,
  known: (key: string, revision: Revision) => CacheEntry | undefined,
): { changes: Change[]; floor: Revision } {
  /** The state of each key that had a change; null: it was gone. */
  const latest = new Map<string, CacheEntry | null>();
  let changes: Change[] = [];
  let floor = since;
  for (const event of events) {
    const key = keyOf(event);
    const revision = revisionOf(event);
    const created = event.type === 'put' && event.created;
    const previous =
      latest.get(key) ??
      (created || event.previous === undefined ? undefined : CacheEntry.kept(event.previous, context));
    const kept = event.type === 'put' ? (known(key, revision) ?? CacheEntry.kept(event.kv, context)) : null;
    latest.set(key, kept);
    if (previous === undefined && !created) {
      changes = [];
      floor = revision;
      continue;
    }
    const entry = kept ?? previous?.at(revision);
    if (entry !== undefined) changes.push(new Change({ revision, entry, previous, deleted: kept === null }));
  }
  return { changes, floor };
}
