/** The cache during an outage of etcd; afterwards nothing is missing. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { StatusError } from '#apimachinery/errors/status.js';
import { any, exact, latest, readWatch, runCache, show, thing } from '#storage/cache/cache-fixture.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';

function connect(etcd: TestEtcd): EtcdStore {
  return new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random, callTimeoutMs: 1000 });
}

async function failure(promise: Promise<unknown>): Promise<StatusError> {
  const error = await promise.then(
    () => undefined,
    (err: unknown) => err,
  );
  if (error instanceof StatusError) return error;
  throw new Error('not a StatusError', { cause: error });
}

void t.test('etcd is killed and restarted', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = connect(etcd);
  t.teardown(() => store.close());
  const cache = runCache(t, store);
  await cache.waitReady();
  const a = await cache.create('ns/a', thing('a', 1));
  const { revision } = await cache.list({ scope: '', version: latest });
  const watch = readWatch(t, cache, { version: exact(revision) });
  await watch.opened();

  await etcd.kill();
  t.equal(await cache.get('ns/a', any), a, 'reads of any version work');
  t.equal((await cache.list({ scope: '', version: any })).entries.length, 1);
  const calls = [
    cache.list({ scope: '', version: latest }),
    cache.get('ns/a', latest),
    cache.create('ns/b', thing('b', 1)),
    cache.update('ns/a', thing('a', 2), revision),
  ].map(failure);
  for (const error of await Promise.all(calls)) {
    t.ok([503, 504].includes(error.code), `${error.code} ${error.message}`);
    t.equal(error.status.details?.retryAfterSeconds, 1);
  }

  await etcd.restart();
  // Another client writes before this server has reconnected.
  const other = connect(etcd);
  t.teardown(() => other.close());
  const b = await other.create('/registry/things/ns/b', thing('b', 1));
  const b2 = await other.update('/registry/things/ns/b', thing('b', 2), b.revision);
  await other.delete('/registry/things/ns/b', b2.revision);
  const c = await other.create('/registry/things/ns/c', thing('c', 1));
  t.same((await watch.until((events) => events.length >= 4)).map(show), [
    `ADDED b=1@${b.revision}`,
    `MODIFIED b=2@${b2.revision}`,
    `DELETED b=2@${b2.revision + 1n}`,
    `ADDED c=1@${c.revision}`,
  ]);
  t.equal((await cache.list({ scope: '', version: latest })).entries.length, 2);
  t.equal(await cache.selfCheck(), true);
});

void t.test('history is compacted while etcd is unreachable', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = connect(etcd);
  t.teardown(() => store.close());
  const cache = runCache(t, store);
  await cache.waitReady();
  const revisions = new Map<string, bigint>();
  for (const name of ['changed', 'gone', 'kept', 'replaced']) {
    revisions.set(name, (await cache.create(`ns/${name}`, thing(name, 1)))?.revision ?? 0n);
  }
  const { revision } = await cache.list({ scope: '', version: latest });
  const watch = readWatch(t, cache, { version: exact(revision) });
  await watch.opened();

  // Another server on the same data makes changes that this one must not see.
  await etcd.kill();
  const hidden = await startEtcd({ dataDir: etcd.dataDir });
  const other = connect(hidden);
  const key = (name: string) => `/registry/things/ns/${name}`;
  const changed = await other.update(key('changed'), thing('changed', 2), revisions.get('changed') ?? 0n);
  await other.delete(key('gone'), revisions.get('gone') ?? 0n);
  await other.delete(key('replaced'), revisions.get('replaced') ?? 0n);
  const replaced = await other.create(key('replaced'), thing('replaced', 2, {}, 'another-uid'));
  const added = await other.create(key('added'), thing('added', 1));
  await other.compact(added.revision);
  await other.close();
  await hidden.kill();

  await etcd.restart();
  const seen = await watch.until((events) => events.length >= 5);
  const byRevision = seen.map((event) => event.revision);
  t.same(
    byRevision,
    [...byRevision].sort((x, y) => (x < y ? -1 : 1)),
    'in the order of their revisions',
  );
  t.equal(new Set(byRevision).size, seen.length, 'each with its own');
  t.ok(byRevision.every((each) => each > revision));
  t.same(
    seen.map((event) => show(event).replace(/^(DELETED .*)@.*/, '$1')).sort(),
    [
      'DELETED gone=1',
      'DELETED replaced=1',
      `MODIFIED changed=2@${changed.revision}`,
      `ADDED replaced=2@${replaced.revision}`,
      `ADDED added=1@${added.revision}`,
    ].sort(),
  );
  const order = seen.map(show).filter((line) => line.includes('replaced'));
  t.match(order, [/^DELETED/, /^ADDED/]);
  t.equal((await cache.list({ scope: '', version: latest })).entries.length, 4);
  t.equal(await cache.selfCheck(), true);
});
