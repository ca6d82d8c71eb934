/** What happened between the cache's state and a newer one, when the events in between are lost. */
import type { CacheEntry } from '#storage/cache/cache-entry.js';
import { Change } from '#storage/cache/event-ring.js';
import type { Revision } from '#storage/store.js';

export interface RelistOptions {
  /** What the cache held at `since`. */
  readonly before: readonly CacheEntry[];
  readonly since: Revision;
  /** What the store holds now, in key order, like `before`. */
  readonly now: readonly CacheEntry[];
  /** True when both are versions of one object, not of two that had the same name one after the other. */
  readonly sameObject: (a: CacheEntry, b: CacheEntry) => boolean;
}

/**
 * The changes that lead from one state to the other, in the order of their revisions, each with a revision of its own
 * above `since`.
 *
 * The true revisions of deletions are unknown. They get the lowest free ones: a client that resumes elsewhere from such a
 * revision may then see a deletion twice, but can never miss one.
 */
export function changesBetween(options: RelistOptions): Change[] {
  const { gone, changed } = compare(options);
  const taken = new Set(changed.map((change) => change.revision));
  let free = options.since;
  const deletions = gone.map((previous) => {
    do free++;
    while (taken.has(free));
    return new Change({ revision: free, entry: previous.at(free), previous, deleted: true });
  });
  return [...deletions, ...changed].sort((a, b) => (a.revision < b.revision ? -1 : 1));
}

function compare({ before, now, sameObject }: RelistOptions): { gone: CacheEntry[]; changed: Change[] } {
  const gone: CacheEntry[] = [];
  const changed: Change[] = [];
  let at = 0;
  for (const entry of now) {
    for (; at < before.length && (before[at] as CacheEntry).key < entry.key; at++) gone.push(before[at] as CacheEntry);
    let previous = before[at]?.key === entry.key ? before[at++] : undefined;
    if (previous?.revision === entry.revision) continue;
    if (previous !== undefined && !sameObject(previous, entry)) {
      gone.push(previous);
      previous = undefined;
    }
    changed.push(new Change({ revision: entry.revision, entry, previous, deleted: false }));
  }
  for (; at < before.length; at++) gone.push(before[at] as CacheEntry);
  return { gone, changed };
}
