/**
 * Loaded into the server by `soak.ts --profile DIRECTORY`: appends to `delays.log`, each second, what held the event loop: the
 * longest delay, its 99th percentile, and the longest garbage collections of each kind, in milliseconds.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

const directory = process.env['FLOODS_PROFILE'] ?? '.';
const kinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak',
};
const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
let collections: Record<string, { count: number; sum: number; longest: number }> = {};
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const kind = kinds[(entry as unknown as { detail: { kind: number } }).detail.kind] ?? 'other';
    const all = collections[kind] ?? { count: 0, sum: 0, longest: 0 };
    collections[kind] = all;
    all.count += 1;
    all.sum += entry.duration;
    all.longest = Math.max(all.longest, entry.duration);
  }
}).observe({ entryTypes: ['gc'] });
setInterval(() => {
  const ms = (ns: number) => (ns / 1e6).toFixed(1);
  const pauses = Object.entries(collections).map(
    ([kind, { count, sum, longest }]) => `${kind} ${count}× ${sum.toFixed(0)} longest ${longest.toFixed(1)}`,
  );
  const { rss, heapUsed, external } = process.memoryUsage();
  const megabytes = [rss, heapUsed, external].map((bytes) => (bytes / 1e6).toFixed(0)).join(' ');
  appendFileSync(
    join(directory, 'delays.log'),
    `${new Date().toISOString()} p50 ${ms(delays.percentile(50))} p99 ${ms(delays.percentile(99))} max ${ms(delays.max)}; ${pauses.join('; ')}; MB ${megabytes}\n`,
  );
  delays.reset();
  collections = {};
}, 1000).unref();
