/** Completion indexes of jobs and their pods. */
import type { Job } from '#api/batch/v1/types.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Inclusive. */
type Interval = readonly [first: number, last: number];

/** Ascending, with gaps between intervals. */
export type IndexSet = readonly Interval[];

export function isIndexed(job: Job): boolean {
  return job.spec.completionMode === 'Indexed';
}

/** The pod's index; undefined when it is absent or out of range. */
export function completionIndex(dialect: Dialect, job: Job, pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[dialect.annotations.jobCompletionIndex];
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined;
  const index = Number(text);
  return index < (job.spec.completions ?? 0) ? index : undefined;
}

/**
 * Parses the format of a job's status, `1,3-5`. Omits malformed parts, and indexes beyond `completions`, which would
 * count as done.
 */
export function parseIndexes(text: string | undefined, completions: number): IndexSet {
  if (text === undefined || text === '') return [];
  const indexes: Interval[] = [];
  for (const part of text.split(',')) {
    const match = /^([0-9]+)(?:-([0-9]+))?$/.exec(part);
    if (match === null) continue;
    const first = Number(match[1]);
    const last = Math.min(Number(match[2] ?? first), completions - 1);
    if (first <= last) indexes.push([first, last]);
  }
  return normalized(indexes);
}

/** Formats `1,3-5`; a range has at least three indexes. */
export function formatIndexes(indexes: IndexSet): string {
  const parts = indexes.map(([first, last]) => {
    if (first === last) return `${first}`;
    return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
  });
  return parts.join(',');
}

export function hasIndex(indexes: IndexSet, index: number): boolean {
  let low = 0;
  let high = indexes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((indexes[middle]?.[1] ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  const interval = indexes[low];
  return interval !== undefined && interval[0] <= index;
}

export function countIndexes(indexes: IndexSet): number {
  return indexes.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

export function withIndexes(indexes: IndexSet, more: Iterable<number>): IndexSet {
  return normalized([...indexes, ...[...more].map((index): Interval => [index, index])]);
}

/** The `count` lowest indexes below `completions` that are neither done nor active. */
export function pendingIndexes(
  done: IndexSet,
  active: ReadonlySet<number>,
  { count, completions }: { readonly count: number; readonly completions: number },
): number[] {
  const pending: number[] = [];
  let index = 0;
  for (const [first, last] of [...done, [completions, completions] as const]) {
    for (; index < Math.min(first, completions) && pending.length < count; index += 1) {
      if (!active.has(index)) pending.push(index);
    }
    index = Math.max(index, last + 1);
  }
  return pending;
}

function normalized(intervals: readonly Interval[]): IndexSet {
  const sorted = [...intervals].sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [first, last] of sorted) {
    const previous = merged.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}
