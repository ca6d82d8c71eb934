import { Registry } from 'prom-client';
import t from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { createStorageMetrics } from '#storage/metrics.js';
import { pollMetrics } from '#storage/poll-metrics.js';

void t.test('object counts and sizes are polled, each with its period', async (t) => {
  const periods: number[] = [];
  const stop = new AbortController();
  const clock: Clock = {
    ...realClock,
    sleep: async (ms) => {
      periods.push(ms);
      if (periods.length >= 4) stop.abort();
    },
  };
  const store = new MemoryStore({ clock: realClock });
  await store.create('/registry/things/a', Buffer.from('12345'));
  const registry = new Registry();
  const caches = [
    { resource: 'things', size: 3, ready: () => true },
    { resource: 'others', size: 0, ready: () => false },
  ];
  const options = { stores: [store], caches, clock, log: silentLogger, metrics: createStorageMetrics(registry) };
  await pollMetrics({ ...options, countPeriodMs: 10, sizePeriodMs: 0 }, stop.signal);
  t.same(new Set(periods), new Set([10]), 'disabled metrics are not polled');
  let text = await registry.metrics();
  t.match(text, /apiserver_storage_objects\{resource="things"\} 3\n/);
  t.notMatch(text, /apiserver_storage_objects\{resource="others"\}/);
  t.notMatch(text, /etcd_db_total_size_in_bytes\{/);

  const once = new AbortController();
  const counted = { ...clock, sleep: async () => once.abort() };
  await pollMetrics({ ...options, clock: counted, countPeriodMs: 0, sizePeriodMs: 20 }, once.signal);
  text = await registry.metrics();
  t.match(text, /etcd_db_total_size_in_bytes\{endpoint="memory"\} 23\n/);

  await store.close();
  const failing = new AbortController();
  const last = { ...clock, sleep: async () => failing.abort() };
  await pollMetrics({ ...options, clock: last, countPeriodMs: 0, sizePeriodMs: 20 }, failing.signal);
});
