import { Registry } from 'prom-client';
import t from 'tap';
import { configmaps, namespaces } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { Mirror } from '#apiserver/objects/object-mirror.js';
import { StorageObjectReader } from '#apiserver/objects/storage-object-reader.js';
import { ResourceStorages } from '#apiserver/resources/storages.js';
import { silentLogger } from '#daemon/log/logger.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { createStorageMetrics } from '#storage/metrics.js';

t.test('a mirror follows the storage', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  const base = { clock: realClock, turns: new TurnQueue({ clock: realClock, defer: setImmediate }), log: silentLogger };
  const metrics = createStorageMetrics(new Registry());
  const storages = new ResourceStorages({ ...base, dialect, store, random: Math.random, metrics });
  const stop = new AbortController();
  const work = storages.start(stop.signal);
  const storage = storages.storageOf(configmaps);
  const bytes = (object: ConfigMap) => Buffer.from(JSON.stringify(object));
  const object = (name: string, value: string): ConfigMap => ({ metadata: { name, namespace: 'ns' }, data: { value } });
  await storage.waitReady(stop.signal);
  await storage.create('ns/a', bytes(object('a', '1')));

  const reader = new StorageObjectReader({ ...base, storageOf: (resource) => storages.find(resource) });
  const events: string[] = [];
  const mirror = new Mirror<ConfigMap>({
    put: ({ metadata, data }, old) =>
      events.push(`put ${metadata.name} ${old?.data?.['value'] ?? '-'}>${data?.['value']}`),
    drop: ({ metadata }) => events.push(`drop ${metadata.name}`),
  });
  await mirror.start(reader, configmaps, stop.signal);
  t.ok(mirror.synced);
  t.equal(mirror.get('ns', 'a')?.data?.['value'], '1');
  const values: (string | undefined)[] = [];
  const frugal = {
    replaced: () => values.push('all at once'),
    changed: ({ metadata }: ConfigMap) => values.push(metadata.name),
    removed: () => values.push('removed'),
    only: (keys: ReadonlySet<string>) => values.push(`only ${[...keys].join()}`),
  };
  const leave = new AbortController();
  await reader.follow(configmaps, frugal, leave.signal);
  leave.abort();
  t.same(values, ['a', 'only ns/a'], 'one object at a time');
  const created = await storage.create('ns/b', bytes(object('b', '1')));
  const changed = await storage.update('ns/b', bytes(object('b', '2')), created?.revision ?? 0n);
  if (changed.ok) await storage.delete('ns/b', changed.entry.revision);
  while (!events.includes('drop b')) await realClock.sleep(5);
  t.same(events, ['put a ->1', 'put b ->1', 'put b 1>2', 'drop b']);
  t.same(
    [...mirror.values()].map(({ metadata }) => metadata.name),
    ['a'],
  );

  t.equal((await reader.get(configmaps, 'ns', 'a', 'latest'))?.data?.['value'], '1');
  t.equal(await reader.get(configmaps, 'ns', 'b', 'latest'), undefined);
  t.equal((await reader.list(configmaps, 'ns')).length, 1);
  t.equal((await reader.list(configmaps, 'other')).length, 0);
  const nothing = new StorageObjectReader({ ...base, storageOf: () => undefined });
  t.throws(() => nothing.get(namespaces, '', 'a'), RangeError);
  stop.abort();
  await storages.close();
  await work;
  await store.close();
});

t.test('a state that is read again reports only the differences', (t) => {
  const events: string[] = [];
  const mirror = new Mirror<ConfigMap>({
    put: ({ metadata }) => events.push(`put ${metadata.name}`),
    drop: ({ metadata }) => events.push(`drop ${metadata.name}`),
  });
  const [a, b, c] = ['a', 'b', 'c'].map((name): ConfigMap => ({ metadata: { name, namespace: 'ns' } }));
  if (a === undefined || b === undefined || c === undefined) throw new Error('unreachable');
  mirror.replaced([a, b]);
  mirror.replaced([b, c]);
  t.same(events, ['put a', 'put b', 'drop a', 'put c']);
  t.end();
});
