import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { compactRegularly } from '#storage/compaction.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { createStorageMetrics, type StorageMetrics } from '#storage/metrics.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Revision, Store } from '#storage/store.js';

interface Server {
  /** Lets one period pass; resolves when the server waits again. */
  period(): Promise<void>;
  readonly metrics: StorageMetrics;
}

/** A server whose periods pass under the test's control. */
async function run(t: Test, store: Store): Promise<Server> {
  let wake = () => {};
  let asleep = () => {};
  let sleeping = new Promise<void>((resolve) => {
    asleep = resolve;
  });
  const clock: Clock = {
    ...realClock,
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        signal?.addEventListener('abort', () => resolve(), { once: true });
        wake = resolve;
        asleep();
      }),
  };
  const controller = new AbortController();
  const metrics = createStorageMetrics(new Registry());
  const done = compactRegularly({ store, root: '/registry', clock, log: silentLogger, metrics }, controller.signal);
  t.teardown(async () => {
    controller.abort();
    await done;
  });
  await sleeping;
  return {
    metrics,
    async period() {
      sleeping = new Promise((resolve) => {
        asleep = resolve;
      });
      wake();
      await sleeping;
    },
  };
}

const results = async (metrics: StorageMetrics) =>
  Object.fromEntries((await metrics.compactions.get()).values.map(({ labels, value }) => [labels.result, value]));

void t.test('one of two servers compacts after one period', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  const write = async (name: string): Promise<Revision> =>
    (await store.create(`/registry/${name}`, Buffer.from(''))).revision;
  const readable = async (revision: Revision): Promise<boolean> => {
    try {
      await store.range({ start: '/registry/', end: prefixEnd('/registry/'), revision });
      return true;
    } catch {
      return false;
    }
  };
  const first = await write('a');
  const second = await write('b');
  const servers = [await run(t, store), await run(t, store)];
  const third = await write('c');
  for (const server of servers) await server.period();
  t.same([await readable(first), await readable(second), await readable(third)], [false, true, true]);
  const fourth = await write('d');
  for (const server of servers) await server.period();
  t.same([await readable(third), await readable(fourth)], [false, true], 'history is compacted in each period');
  const counts = await Promise.all(servers.map((server) => results(server.metrics)));
  t.same(counts, [{ done: 2 }, { left_to_another: 2 }]);
});

void t.test('a failure does not end the loop', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  await store.create('/registry/a', Buffer.from(''));
  const server = await run(t, store);
  await store.close();
  await server.period();
  await server.period();
  t.same(await results(server.metrics), { error: 2 });
});
