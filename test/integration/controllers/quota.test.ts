/** Quotas: charges by servers, and recounts by the controller, over a real etcd. */
import t, { type Test } from 'tap';
import {
  configmaps,
  namespaces,
  persistentvolumeclaims,
  pods,
  resourcequotas,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import type { ConfigMap, ResourceQuota } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { hasReason, isNotFound, statusOf } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { Client } from '#client/client.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { ForwardingStore } from '#storage/forwarding-store.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { type Revision, type Store, StoreError, type WriteOptions, type WriteResult } from '#storage/store.js';
import { startEtcd } from '#test/etcd.js';
import { isBusy, runManager, until } from '#test/integration/controllers/cluster.js';
import { startApi } from '#test/integration/daemons/api.js';

t.setTimeout(180_000);

const namespace = 'team';
const creators = 64;
const where = { namespace };

interface Servers {
  readonly clients: readonly [Client, ...Client[]];
  /** A separate client, for reading the stored objects. */
  readonly store: Store;
}

/** Starts several API servers over one store, with the quota controller. */
async function start(
  t: Test,
  dialect: Dialect,
  newStores: readonly [() => Store, ...(() => Store)[]],
): Promise<Servers> {
  const clients: Client[] = [];
  for (const newStore of newStores.slice(1)) {
    clients.push((await startApi(t, { dialect, mode: 'AlwaysAllow', store: newStore() })).client);
  }
  const [first, ...others] = clients;
  if (first === undefined) throw new Error('no server');
  await runManager(t, { client: first, dialect, controllers: ['resourcequota'] });
  await first.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  return { clients: [first, ...others], store: newStores[0]() };
}

async function makeQuota({ clients }: Servers, hard: Record<string, string>, name = 'q'): Promise<void> {
  await clients[0].resource(resourcequotas).create({ metadata: { name, namespace }, spec: { hard } });
  // Each server enforces a quota when it has seen the counted status.
  for (const client of clients) {
    const isCounted = ({ status }: ResourceQuota) =>
      Object.keys(hard).every((each) => status?.used?.[each] !== undefined);
    await until('it is counted', () => client.resource(resourcequotas).get(name, where), isCounted);
  }
}

const quotaNow = ({ clients }: Servers) => clients[0].resource(resourcequotas).get('q', where);
const mapsNow = async ({ clients }: Servers) => (await clients[0].resource(configmaps).list(where)).items.length;

/** Loses responses of some writes, and rejects others. */
class FaultyStore extends ForwardingStore {
  readonly #random: () => number;
  isFaulty = false;
  faults = 0;

  constructor(below: Store, random: () => number) {
    super(below);
    this.#random = random;
  }

  override create(key: string, value: Buffer, options?: WriteOptions): Promise<WriteResult> {
    return this.#faulty(() => this.below.create(key, value, options));
  }

  override update(key: string, value: Buffer, expected: Revision, options?: WriteOptions): Promise<WriteResult> {
    return this.#faulty(() => this.below.update(key, value, expected, options));
  }

  async #faulty(write: () => Promise<WriteResult>): Promise<WriteResult> {
    const dice = this.isFaulty ? this.#random() : 1;
    if (dice < 0.15) this.faults += 1;
    if (dice < 0.05) throw new StoreError('unavailable', 'fault');
    const result = await write();
    if (dice < 0.15) throw new StoreError('timeout', 'answer lost');
    return result;
  }
}

/** Checks every revision since: the number of maps is at most the used amount, which is at most the limit. */
async function checkHistory(t: Test, store: Store, { from, hard }: { readonly from: Revision; readonly hard: number }) {
  const last = await store.currentRevision();
  const stop = new AbortController();
  const maps = new Set<string>();
  let used = 0;
  let [most, overdrawn] = [0, 0];
  const range = { start: '/registry/', end: prefixEnd('/registry/') };
  for await (const message of store.watch({ ...range, fromRevision: from, signal: stop.signal })) {
    const events = message.type === 'events' ? message.events : [];
    for (const [i, event] of events.entries()) {
      const key = event.kv.key;
      if (key === `/registry/resourcequotas/${namespace}/q` && event.type === 'put') {
        used = Number((JSON.parse(event.kv.value.toString()) as ResourceQuota).status?.used?.['configmaps'] ?? 0);
      } else if (key.startsWith(`/registry/configmaps/${namespace}/`)) {
        if (event.type === 'put') maps.add(key);
        else maps.delete(key);
      }
      const next = events[i + 1];
      if (next !== undefined && next.kv.modRevision === event.kv.modRevision) continue;
      most = Math.max(most, maps.size);
      if (maps.size > used) overdrawn += 1;
    }
    if (message.revision >= last) break;
    store.requestProgress('/registry/');
  }
  stop.abort();
  t.ok(most <= hard, `never more than ${hard}`, { most });
  t.equal(overdrawn, 0, 'all objects are charged at every revision');
  return most;
}

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name}: ${creators} creators at three servers use exactly the limit`, async (t) => {
    const etcd = await startEtcd();
    t.teardown(() => etcd.stop());
    const newStore = () => new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
    const servers = await start(t, dialect, [newStore, newStore, newStore, newStore]);
    t.teardown(() => servers.store.close());
    const from = await servers.store.currentRevision();
    await makeQuota(servers, { configmaps: '100', 'count/configmaps': '1000' });
    let created = 0;
    const refusals: unknown[] = [];
    await Promise.all(
      Array.from({ length: creators }, async (_, i) => {
        const client = servers.clients[i % servers.clients.length] as Client;
        for (;;) {
          try {
            await client.resource(configmaps).create({ metadata: { generateName: 'm-', namespace } });
            created += 1;
          } catch (error) {
            refusals.push(error);
            return;
          }
        }
      }),
    );
    t.equal(created, 100);
    t.equal(await mapsNow(servers), 100);
    t.match(await quotaNow(servers), { status: { used: { configmaps: '100', 'count/configmaps': '100' } } });
    t.equal(refusals.length, creators);
    t.ok(
      refusals.every((error) => {
        const { message = '' } = statusOf(error) ?? {};
        return (
          hasReason(error, 'Forbidden') &&
          /^configmaps "m-\w+" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=100, limited: configmaps=100$/.test(
            message,
          )
        );
      }),
      'the other creators get the reason',
      { refusals: refusals.slice(0, 1) },
    );
    t.equal(await checkHistory(t, servers.store, { from, hard: 100 }), 100);
  });
}

t.test(
  'with lost answers and failures, creations and deletions at once never overdraw a quota, and nothing stays taken',
  async (t) => {
    const seed = 20_220_503;
    t.comment(`seed ${seed}`);
    const random = seededRandom(seed);
    const etcd = await startEtcd();
    t.teardown(() => etcd.stop());
    const faulty: FaultyStore[] = [];
    const newStore = () => new EtcdStore({ endpoints: [etcd.endpoint], clock, random });
    const newFaulty = () => {
      const store = new FaultyStore(newStore(), random);
      faulty.push(store);
      return store;
    };
    const servers = await start(t, kubernetesDialect, [newStore, newFaulty, newFaulty]);
    t.teardown(() => servers.store.close());
    const from = await servers.store.currentRevision();
    await makeQuota(servers, { configmaps: '20' });
    for (const store of faulty) store.isFaulty = true;
    const outcomes = { created: 0, exceeded: 0 };
    const create = async (client: Client) => {
      try {
        const { metadata } = await client.resource(configmaps).create({ metadata: { generateName: 'm-', namespace } });
        outcomes.created += 1;
        return metadata.name;
      } catch (error) {
        if (hasReason(error, 'Forbidden')) outcomes.exceeded += 1;
        return undefined;
      }
    };
    const remove = async (client: Client, name: string) => {
      await client
        .resource(configmaps)
        .delete(name, where)
        .catch((error: unknown) => {
          if (!isNotFound(error) && !isBusy(error)) throw error;
        });
    };
    const anyMap = async (client: Client) => {
      const list = client.resource(configmaps).list(where);
      const { items } = await list.catch((error: unknown) => {
        if (isBusy(error)) return { items: [] };
        throw error;
      });
      return items[Math.floor(random() * items.length)]?.metadata.name;
    };
    await Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        const client = servers.clients[i % servers.clients.length] as Client;
        for (let round = 0; round < 25; round += 1) {
          const name = (await create(client)) ?? (await anyMap(client));
          if (random() < 0.7 && name !== undefined) await remove(client, name);
        }
      }),
    );
    const faults = faulty.reduce((sum, store) => sum + store.faults, 0);
    t.comment(JSON.stringify({ ...outcomes, faults }));
    t.ok(outcomes.created > 20 && outcomes.exceeded > 0 && faults > 0, 'revisions were checked');
    for (const store of faulty) store.isFaulty = false;
    const settled = await until(
      'the usage of deleted objects is released',
      async () => ({
        used: (await quotaNow(servers)).status?.used?.['configmaps'],
        count: String(await mapsNow(servers)),
      }),
      ({ used, count }) => used === count,
    );
    t.ok(Number(settled.used) <= 20);
    await checkHistory(t, servers.store, { from, hard: 20 });
  },
);

t.test('charged and uncharged requests', async (t) => {
  const store = new MemoryStore({ clock });
  const servers = await start(t, orchDialect, [() => store, () => store]);
  const [client] = servers.clients;
  const maps = client.resource(configmaps);
  const map = (name: string): ConfigMap => ({ metadata: { name, namespace } });
  const used = async () => (await quotaNow(servers)).status?.used;
  await makeQuota(servers, {
    ...{ configmaps: '2', 'requests.storage': '3Gi', services: '2', 'services.nodeports': '1', 'requests.cpu': '1' },
    ...{ 'gold.storageclass.storage.orch.io/requests.storage': '1Gi' },
  });
  await maps.create(map('dry'), { dryRun: true });
  t.match(await used(), { configmaps: '0' }, 'a dry run is not charged');
  await maps.create(map('a'));
  await t.rejects(maps.create(map('a')), { message: 'configmaps "a" already exists' });
  t.match(await used(), { configmaps: '1' }, 'a failed write is not charged');
  await maps.create(map('b'));
  await t.rejects(maps.create(map('c'), { dryRun: true }), { message: /exceeded quota/ }, 'a dry run is rejected, too');
  await maps.patch('b', { data: { a: '1' } }, { namespace, type: 'merge' });
  await maps.delete('a', where);
  await until('a deletion is given back', used, (amounts) => amounts?.['configmaps'] === '1');
  await maps.create(map('c'));

  const service = client.resource(services);
  const ports = [{ port: 80 }];
  await service.create({ metadata: { name: 's', namespace }, spec: { ports } });
  await service.patch('s', { spec: { type: 'NodePort' } }, { namespace, type: 'merge' });
  t.match(await used(), { services: '1', 'services.nodeports': '1' }, 'an update is charged');
  await t.rejects(service.create({ metadata: { name: 't', namespace }, spec: { type: 'NodePort', ports } }), {
    message:
      /exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1$/,
  });
  await service.patch('s', { spec: { type: 'ClusterIP' } }, { namespace, type: 'merge' });
  await until('a change gives back', used, (amounts) => amounts?.['services.nodeports'] === '0');

  const claim = (name: string, storage: string) => ({
    metadata: { name, namespace },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'gold', resources: { requests: { storage } } },
  });
  await t.rejects(client.resource(persistentvolumeclaims).create(claim('v', '2Gi')), {
    message: /requested: gold.storageclass.storage.orch.io\/requests.storage=2Gi, used: .*=0, limited: .*=1Gi$/,
  });
  await client.resource(persistentvolumeclaims).create(claim('v', '1Gi'));
  t.match(await used(), { 'requests.storage': '1Gi' });

  await client.resource(serviceaccounts).create({ metadata: { name: 'default', namespace } });
  const pod = (cpu?: string) => ({
    metadata: { generateName: 'p-', namespace },
    spec: { containers: [{ name: 'c', image: 'i', resources: cpu === undefined ? {} : { requests: { cpu } } }] },
  });
  await t.rejects(client.resource(pods).create(pod()), {
    message: /^pods "p-\w+" is forbidden: failed quota: q: must specify requests.cpu for: c$/,
  });
});
