import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps, endpoints } from '#api/core/v1/resources.gen.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { createLock } from '#client/leaderelection/create-lock.js';
import type { LeaderRecord } from '#client/leaderelection/record.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

const signal = new AbortController().signal;
const kinds = ['leases', 'endpointsleases', 'configmapsleases'];
const annotation = 'control-plane.alpha.kubernetes.io/leader';

const record = (holderIdentity: string, second = 0): LeaderRecord => ({
  holderIdentity,
  leaseDurationSeconds: 15,
  acquireTime: '2022-05-03T00:00:00.000000Z',
  renewTime: `2022-05-03T00:00:0${second}.000000Z`,
  leaderTransitions: 0,
});

function setUp() {
  const api = new FakeApi({
    dialect: kubernetesDialect,
    clock: new VirtualClock(),
    resources: [leases, endpoints, configmaps],
  });
  return { api, lock: (kind: string) => createLock({ client: api.client, kind, namespace: 'sys', name: 'lock' }) };
}

t.test('every kind of lock stores one record with one writer', async (t) => {
  for (const kind of kinds) {
    const { lock } = setUp();
    const [a, b] = [lock(kind), lock(kind)];
    t.equal(a.description, 'sys/lock');
    t.equal(await a.read(signal), undefined, kind);
    t.equal(await b.read(signal), undefined, kind);
    await a.write(record('a'), signal);
    await t.rejects(b.write(record('b'), signal), { message: /already exists/ }, kind);
    t.same(await b.read(signal), record('a'), kind);
    await a.write(record('a', 1), signal);
    await t.rejects(b.write(record('b'), signal), { message: /has been modified/ }, kind);
    t.same(await b.read(signal), record('a', 1), kind);
    await b.write(record('b', 2), signal);
    t.same(await a.read(signal), record('b', 2), kind);
  }
});

t.test('both objects of a multi-lock name the leader', async (t) => {
  const { api, lock } = setUp();
  const both = lock('endpointsleases');
  await both.read(signal);
  await both.write(record('a'), signal);
  const text = api.get(endpoints, 'sys/lock')?.metadata?.annotations?.[annotation];
  t.same(JSON.parse(text ?? ''), record('a'));
  t.equal(api.get(leases, 'sys/lock')?.spec.holderIdentity, 'a');
});

t.test('a candidate that uses only one object is excluded', async (t) => {
  const { lock } = setUp();
  const old = lock('leases');
  await old.read(signal);
  await old.write(record('old'), signal);
  const both = lock('configmapsleases');
  t.match(await both.read(signal), { holderIdentity: 'old' });
  await both.write(record('new'), signal);
  await old.read(signal);
  await old.write(record('old', 3), signal);
  const combined = await both.read(signal);
  t.equal(combined?.holderIdentity, 'leaderelection.k8s.io/unknown');
  await old.write(record('old', 4), signal);
  t.not((await both.read(signal))?.renewTime, combined?.renewTime, 'each renewal is observed');
});

t.test('an invalid record means a free lock', async (t) => {
  const { api, lock } = setUp();
  for (const text of ['', 'nonsense', '[]', 'null', '{"holderIdentity":7}']) {
    const name = 'lock';
    const metadata = { name, namespace: 'sys', annotations: { [annotation]: text, other: 'kept' } };
    await api.client.resource(configmaps).create({ metadata, data: { a: '1' } });
    const both = lock('configmapsleases');
    t.match(await both.read(signal), { holderIdentity: '' }, text);
    await both.write(record('a'), signal);
    t.match(api.get(configmaps, 'sys/lock'), { data: { a: '1' }, metadata: { annotations: { other: 'kept' } } });
    await api.client.resource(configmaps).delete(name, { namespace: 'sys' });
    await api.client.resource(leases).delete(name, { namespace: 'sys' });
  }
  t.throws(() => lock('files'), RangeError);
});
