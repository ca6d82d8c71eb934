import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { realClock as clock, formatMicroTime } from '#apimachinery/clock.js';
import { electionKey } from '#apimachinery/leader-fence.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { EtcdLeaderLock, type LockRecord } from '#storage/etcd/leader-lock.js';
import { startEtcd } from '#test/etcd.js';

const { signal } = new AbortController();
const where = { namespace: 'sys', name: 'lock' };

const record = (holderIdentity: string, changes: Partial<LockRecord> = {}): LockRecord => ({
  holderIdentity,
  leaseDurationSeconds: 30,
  acquireTime: formatMicroTime(clock.now()),
  renewTime: formatMicroTime(clock.now()),
  leaderTransitions: 0,
  ...changes,
});

void t.test('the lock in etcd', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const lock = () => {
    const newLock = new EtcdLeaderLock({ endpoints: [etcd.endpoint], ...where, clock, random: Math.random });
    t.teardown(() => newLock.close());
    return newLock;
  };

  await t.test('has one holder with a constant revision, and is free after a release', async (t) => {
    const [a, b] = [lock(), lock()];
    t.equal(a.description, 'sys/lock');
    t.equal(await a.read(signal), undefined);
    t.equal(await b.read(signal), undefined);
    const term = record('a');
    await a.write(term, signal);
    await t.rejects(b.write(record('b'), signal), { message: 'a acquired the lock first' });
    t.same(await b.read(signal), term);
    await t.rejects(b.write(record('b'), signal), { message: /^a holds the lock until/ });
    const fence = a.fence();
    t.match(fence, { lock: 'etcdleases', ...where });
    t.same(await a.read(signal), term);
    await a.write({ ...term, renewTime: 'later' }, signal);
    t.same(a.fence(), fence, 'a renewal does not change the term');
    t.same(b.fence(), fence, 'another candidate sees the same term');
    await a.write(record('a', { acquireTime: 'anew' }), signal);
    t.notSame(a.fence(), fence, 'another term of the same holder');
    await a.read(signal);
    await a.write(record(''), signal);
    t.equal(await b.read(signal), undefined);
    await b.write(record('b'), signal);
    await b.write(record(''), signal);
  });

  await t.test('disappears with its lease, which a late holder cannot keep alive', async (t) => {
    const [a, b] = [lock(), lock()];
    await a.read(signal);
    const term = record('a', { leaseDurationSeconds: 2 });
    await a.write(term, signal);
    const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
    t.teardown(() => store.close());
    const key = electionKey(where.namespace, where.name);
    for (;;) {
      const { kvs } = await store.range({ start: key, end: `${key}\0` });
      if (kvs.length === 0) break;
      await sleep(50);
    }
    await t.rejects(a.write(term, signal), { message: 'the etcd lease of the lock has ended' });
    t.equal(await b.read(signal), undefined);
    await b.write(record('b'), signal);
    t.match(await a.read(signal), { holderIdentity: 'b' });
    await b.write(record(''), signal);
  });

  await t.test('an unreadable key holds the lock', async (t) => {
    const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
    t.teardown(() => store.close());
    for (const text of ['', 'nonsense', '[]', 'null', '{"holderIdentity":7}']) {
      const key = electionKey(where.namespace, where.name);
      const created = await store.create(key, Buffer.from(text));
      const a = lock();
      t.match(await a.read(signal), { holderIdentity: 'unknown' }, text);
      await store.delete(key, created.revision);
    }
  });

  await t.test('elects one of several candidates, and another after it stops', async (t) => {
    const leading: string[] = [];
    const stops = new Map<string, AbortController>();
    const runs = ['a', 'b', 'c'].map((identity) => {
      const stop = new AbortController();
      stops.set(identity, stop);
      const times = { leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 50 };
      const elector = new LeaderElector({ lock: lock(), identity, ...times, clock, random: Math.random, log });
      return elector.run((lost) => {
        // On a busy machine a candidate may lose a term and lead again.
        if (!leading.includes(identity)) leading.push(identity);
        return new Promise((resolve) => lost.addEventListener('abort', () => resolve(), { once: true }));
      }, stop.signal);
    });
    for (let terms = 1; terms <= 3; terms += 1) {
      while (leading.length < terms) await sleep(10);
      stops.get(leading[terms - 1] ?? '')?.abort();
    }
    await Promise.all(runs);
    t.same([...leading].sort(), ['a', 'b', 'c']);
  });
});
