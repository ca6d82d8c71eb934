/** The API server's part of leader election: it accepts writes of a leader only within its term. */
import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { electionKey, formatLeaderFence, type LeaderFence } from '#apimachinery/leader-fence.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { type DaemonTest, startApi } from '#test/integration/daemons/api.js';

t.setTimeout(120_000);

const namespace = dialect.namespaces.system;
const time = '2022-05-03T00:00:00.000000Z';
const over = { message: /the term of the leader that asks for this write is over/, reason: 'Conflict' };

function leaderOf({ api }: DaemonTest, header: () => string): RestClient {
  const user = { name: 'root', groups: [dialect.groups.masters, dialect.groups.authenticated] };
  const transport = new InProcessTransport({ handler: api.handler, user });
  return new RestClient({ transport, dialect, clock, fence: () => ({ 'leader-fence': header() }) });
}

const map = (name: string) => ({ metadata: { name, namespace }, data: { a: '1' } });

t.test('every kind of write needs the Lease to show the term', async (t) => {
  const test = await startApi(t, { dialect });
  const locks = test.client.resource(leases);
  const spec = {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 1,
  };
  let lease = await locks.create({ metadata: { name: 'lock', namespace }, spec });
  const fence: LeaderFence = { lock: 'leases', namespace, name: 'lock', ...spec };
  const leader = leaderOf(test, () => formatLeaderFence(fence)).resource(configmaps);

  const created = await leader.create(map('one'));
  lease = await locks.update({ ...lease, spec: { ...spec, renewTime: '2022-05-03T00:00:02.000000Z' } });
  const changed = await leader.update({ ...created, data: { a: '2' } });
  await leader.patch('one', { data: { b: '3' } }, { namespace, type: 'merge' });

  for (const other of [
    { holderIdentity: 'b', leaseTransitions: 2 },
    { holderIdentity: '' },
    { acquireTime: '2022-05-03T00:00:09.000000Z' },
  ]) {
    lease = await locks.update({ ...lease, spec: { ...spec, ...other } });
    const what = JSON.stringify(other);
    await t.rejects(leader.create(map('two')), over, what);
    await t.rejects(leader.update({ ...changed, metadata: { name: 'one', namespace }, data: { a: '4' } }), over, what);
    await t.rejects(leader.patch('one', { data: { b: '5' } }, { namespace, type: 'merge' }), over, what);
    await t.rejects(leader.delete('one', { namespace }), over, what);
  }
  t.match(await leader.get('one', { namespace }), { data: { a: '2', b: '3' } }, 'reading needs no term');
  await t.rejects(test.client.resource(configmaps).get('two', { namespace }), { message: /not found/ });

  lease = await locks.update({ ...lease, spec });
  await leader.delete('one', { namespace });
  await locks.delete('lock', { namespace });
  await t.rejects(leader.create(map('two')), over, 'without a Lease no process leads');
});

t.test('renewals in between hold no write up', async (t) => {
  const test = await startApi(t, { dialect });
  const locks = test.client.resource(leases);
  const spec = {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 0,
  };
  let lease = await locks.create({ metadata: { name: 'lock', namespace }, spec });
  const header = formatLeaderFence({ lock: 'leases', namespace, name: 'lock', ...spec });
  const leader = leaderOf(test, () => header).resource(configmaps);
  const writes = Array.from({ length: 40 }, (_, i) => leader.create(map(`m${i}`)));
  for (let i = 10; i < 40; i += 1) {
    lease = await locks.update({ ...lease, spec: { ...spec, renewTime: `2022-05-03T00:00:${i}.000000Z` } });
  }
  t.equal((await Promise.all(writes)).length, 40);
});

t.test('a header that no leader writes is refused', async (t) => {
  const test = await startApi(t, { dialect });
  const leader = leaderOf(test, () => 'lock=files').resource(configmaps);
  await t.rejects(leader.create(map('one')), { reason: 'BadRequest', message: /leader-fence: namespace is missing/ });
});

t.test('a term of a lock in etcd is the revision of its key', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
  const test = await startApi(t, { dialect, store });
  const key = electionKey(namespace, 'lock');
  const held = await store.create(key, Buffer.from('{}'));
  const leader = leaderOf(test, () =>
    formatLeaderFence({ lock: 'etcdleases', namespace, name: 'lock', revision: held.revision }),
  ).resource(configmaps);
  await leader.create(map('one'));
  await store.update(key, Buffer.from('{}'), held.revision);
  await t.rejects(leader.create(map('two')), over);
  await t.rejects(leader.delete('one', { namespace }), over);
});
