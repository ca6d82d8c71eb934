/** Work of the sort that large requests are: it takes as much longer as they do where the processors are slow or shared. */
import type { ThreadTime } from '#test/fuzz/cost/thread-time.js';

/** As many keys as a map of a request may have. */
const keys = 64_000;
const text = JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, `v${i}`])));

/** Reads a map, copies it key by key, looks at all of it, and writes it. Returns processor time; ms. */
export function referenceMs(thread: ThreadTime): number {
  const before = thread.milliseconds();
  const map = JSON.parse(text) as Record<string, string>;
  const copy: Record<string, string> = {};
  for (const [key, value] of Object.entries(map)) copy[key] = value;
  let bytes = 0;
  for (const key of Object.keys(copy)) bytes += key.length + (copy[key] ?? '').length;
  if (JSON.stringify(copy).length < bytes) throw new RangeError('a text is shorter than its parts');
  return thread.milliseconds() - before;
}
