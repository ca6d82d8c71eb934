/** Calls, writes and watches while the connection to etcd is delayed, cut or moved to another member. */
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { StatusError } from '#apimachinery/errors/status.js';
import { any, exact, latest, readWatch, runCache, show, thing } from '#storage/cache/cache-fixture.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { ForwardingStore } from '#storage/forwarding-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { type RangeOptions, type RangeResult, type Revision, type Store, StoreError } from '#storage/store.js';
import { startEtcd, startEtcdCluster } from '#test/etcd.js';
import { startTcpProxy } from '#test/tcp-proxy.js';

t.setTimeout(180_000);

function connect(t: Test, endpoints: readonly string[], callTimeoutMs = 2000): EtcdStore {
  const store = new EtcdStore({ endpoints, clock: realClock, random: Math.random, callTimeoutMs });
  t.teardown(() => store.close());
  return store;
}

const things = { start: '/registry/things/', end: prefixEnd('/registry/things/') };
const keyOf = (i: number): string => `/registry/things/ns/${String(i).padStart(4, '0')}`;

/** Creates and updates many keys concurrently; returns the newest acknowledged revision and value of each. */
async function writeMany(
  store: Store,
  count: number,
  onWrite: (written: number) => void,
): Promise<Map<string, { revision: Revision; value: number }>> {
  const acknowledged = new Map<string, { revision: Revision; value: number }>();
  let written = 0;
  const note = (key: string, revision: Revision, value: number) => {
    acknowledged.set(key, { revision, value });
    onWrite(++written);
  };
  const one = async (i: number) => {
    const key = keyOf(i);
    try {
      const created = await store.create(key, thing(String(i), 1));
      if (!created.ok) return;
      note(key, created.revision, 1);
      const updated = await store.update(key, thing(String(i), 2), created.revision);
      if (updated.ok) note(key, updated.revision, 2);
    } catch (err) {
      // Unknown outcomes are part of the test.
      if (!(err instanceof StoreError)) throw err;
    }
  };
  await Promise.all(Array.from({ length: count }, (_, i) => one(i)));
  return acknowledged;
}

/** Each write happened completely or not at all, and acknowledged ones happened. */
async function checkOutcomes(
  t: Test,
  store: Store,
  count: number,
  acknowledged: ReadonlyMap<string, { revision: Revision; value: number }>,
): Promise<void> {
  const { kvs } = await store.range(things);
  const stored = new Map(kvs.map((kv) => [kv.key, kv]));
  const wrong: string[] = [];
  let unknown = 0;
  for (let i = 0; i < count; i++) {
    const key = keyOf(i);
    const last = acknowledged.get(key);
    const kv = stored.get(key);
    const values = [1, 2].filter((value) => kv?.value.equals(thing(String(i), value)) === true);
    if (kv !== undefined && values.length !== 1) wrong.push(`${key} is half written`);
    if (last === undefined) {
      unknown++;
      // Its creation was not acknowledged, so nothing followed.
      if (kv !== undefined && values[0] !== 1) wrong.push(`${key} has a value that was never sent`);
      continue;
    }
    if (kv === undefined) wrong.push(`${key} was acknowledged and is gone`);
    else if (kv.modRevision < last.revision) wrong.push(`${key} is older than what was acknowledged`);
    else if (kv.modRevision === last.revision && values[0] !== last.value) wrong.push(`${key} has another value`);
    else if (kv.modRevision > last.revision && (last.value !== 1 || values[0] !== 2)) wrong.push(`${key} is newer`);
  }
  t.same(wrong, []);
  t.comment(`${acknowledged.size} acknowledged, ${unknown} never`);
}

void t.test('the connection is cut during many writes', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const proxy = await startTcpProxy(etcd.endpoint);
  t.teardown(() => proxy.stop());
  const direct = connect(t, [etcd.endpoint]);
  for (const fault of ['cut', 'kill', 'hold'] as const) {
    await t.test(fault, async (t) => {
      for (const { key, modRevision } of (await direct.range(things)).kvs) await direct.delete(key, modRevision);
      const store = connect(t, [proxy.endpoint], 1500);
      const cache = runCache(t, store);
      await cache.waitReady();
      const { revision } = await cache.list({ scope: '', version: latest });
      const watch = readWatch(t, cache, { version: exact(revision) });
      await watch.opened();
      const count = 300;
      let begun: Promise<unknown> | undefined;
      const acknowledged = await writeMany(store, count, (written) => {
        if (written < 50 || begun !== undefined) return;
        if (fault === 'kill') begun = etcd.kill();
        else begun = Promise.resolve(proxy[fault]());
      });
      await begun;
      t.equal((await cache.list({ scope: '', version: any })).revision >= revision, true, 'reads of any version work');
      if (fault === 'kill') await etcd.restart();
      proxy.pass();
      await checkOutcomes(t, direct, count, acknowledged);
      const end = await direct.create('/registry/things/ns/end', thing('end', 1));
      // Delayed writes may still arrive, so both sides are compared at one revision.
      const seen = await watch.until((all) => (all.at(-1)?.revision ?? 0n) >= end.revision);
      const events = seen.filter((event) => event.revision <= end.revision);
      const last = new Map(events.map((event) => ['entry' in event ? event.entry.key : '', event.revision]));
      const { kvs } = await direct.range({ ...things, revision: end.revision });
      t.same(last, new Map(kvs.map((kv) => [kv.key, kv.modRevision])), 'the watch missed nothing');
      t.equal(new Set(events.map(show)).size, events.length, 'no event came twice');
      t.equal(await cache.selfCheck(), true);
    });
  }
});

/** Counts the calls that reach etcd. */
class CountingStore extends ForwardingStore {
  calls = 0;

  override range(options: RangeOptions): Promise<RangeResult> {
    this.calls++;
    return super.range(options);
  }

  override currentRevision(signal?: AbortSignal): Promise<Revision> {
    this.calls++;
    return super.currentRevision(signal);
  }
}

void t.test('an unfilled cache sheds load', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const direct = connect(t, [etcd.endpoint]);
  await direct.create(keyOf(0), thing('0', 1));
  const proxy = await startTcpProxy(etcd.endpoint);
  t.teardown(() => proxy.stop());
  proxy.hold();
  const store = connect(t, [proxy.endpoint], 60_000);
  const counting = new CountingStore(store);
  const cache = runCache(t, counting, { waitMs: 300 });
  const versions = [latest, any, exact(1n), { kind: 'notOlderThan', revision: 1n } as const];
  const calls = Array.from({ length: 400 }, (_, i) => {
    const version = versions[i % versions.length] ?? any;
    return i % 8 < 4 ? cache.list({ scope: '', version }) : cache.get('ns/0000', version);
  });
  const watch = readWatch(t, cache).opened();
  const failures = await Promise.all(
    [...calls, watch].map((promise) =>
      promise.then(
        () => 'answered',
        (err: unknown) => (err instanceof StatusError ? `${err.code} ${err.status.details?.retryAfterSeconds}` : err),
      ),
    ),
  );
  t.same(new Set(failures), new Set(['429 1']));
  t.equal(counting.calls, 1, 'only the cache calls etcd');
  t.equal(proxy.connections, 1);
  proxy.pass();
  await cache.waitReady();
  t.equal((await cache.list({ scope: '', version: latest })).entries.length, 1);
});

void t.test('a killed connection is not used again', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = connect(t, [etcd.endpoint], 5000);
  for (let round = 0; round < 3; round++) {
    const { revision } = await store.create(keyOf(round), thing(String(round), 1));
    // Calls are in progress, and more follow while no member is reachable.
    const under = Array.from({ length: 20 }, () =>
      store.range(things).then(
        () => true,
        (err: unknown) => err instanceof StoreError,
      ),
    );
    const killed = etcd.kill();
    const during = store.currentRevision().then(
      () => true,
      (err: unknown) => err instanceof StoreError,
    );
    await killed;
    t.ok(
      (await Promise.all([...under, during])).every((each) => each === true),
      'each is answered or fails as it should',
    );
    await etcd.restart();
    t.ok((await store.currentRevision()) >= revision, 'the first call after the outage succeeds');
  }
});

void t.test('the current member is killed', async (t) => {
  const members = await startEtcdCluster(3);
  t.teardown(() => Promise.all(members.map((member) => member.stop())));
  const endpoints = members.map((member) => member.endpoint);
  const store = new EtcdStore({ endpoints, clock: realClock, random: () => 0, callTimeoutMs: 5000 });
  t.teardown(() => store.close());
  const cache = runCache(t, store);
  await cache.waitReady();
  t.same([...(await store.sizes()).keys()].sort(), [...endpoints].sort(), 'each member reports its size');
  const { revision } = await cache.list({ scope: '', version: latest });
  const watch = readWatch(t, cache, { version: exact(revision) });
  await watch.opened();
  const names: string[] = [];
  const add = async (name: string) => {
    for (;;) {
      const done = await cache.create(`ns/${name}`, thing(name, 1)).then(
        () => true,
        (err: unknown) => {
          if (!(err instanceof StatusError && [503, 504].includes(err.code))) throw err;
          return false;
        },
      );
      if (done) return names.push(name);
    }
  };
  for (const [at, member] of members.entries()) {
    await add(`before-${at}`);
    await member.kill();
    await add(`without-${at}`);
    t.equal(
      (await cache.list({ scope: '', version: latest })).entries.length,
      names.length,
      'consistent reads continue',
    );
    t.equal((await store.sizes()).size, 2);
    await store.health();
    await member.restart();
  }
  await add('end');
  const events = await watch.until((seen) => seen.length >= names.length);
  t.same(
    events.map((event) => show(event).replace(/@.*/, '')),
    names.map((name) => `ADDED ${name}=1`),
    'and so does the watch',
  );
  t.equal(await cache.selfCheck(), true);
});
