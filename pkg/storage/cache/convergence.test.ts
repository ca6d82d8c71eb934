import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { runCache } from '#storage/cache/cache-fixture.js';
import { everyWatcherSeesEverything, writeCount } from '#storage/cache/convergence-contract.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { startEtcd } from '#test/etcd.js';

t.setTimeout(120_000);

void t.test('on the memory store', (t) =>
  everyWatcherSeesEverything(t, new MemoryStore({ clock: realClock }), runCache),
);

void t.test('on etcd', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random });
  t.teardown(() => store.close());
  await everyWatcherSeesEverything(t, store, runCache);
});

void t.test('on an etcd that is killed', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const options = { endpoints: [etcd.endpoint], clock: realClock, random: Math.random, callTimeoutMs: 1000 };
  const store = new EtcdStore(options);
  t.teardown(() => store.close());
  let restarted: Promise<void> | undefined;
  await everyWatcherSeesEverything(t, store, runCache, (count) => {
    if (count >= writeCount / 2) restarted ??= etcd.kill().then(() => etcd.restart());
  });
  await restarted;
});
