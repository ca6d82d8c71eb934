/** A leader process is stopped for longer than its lease and resumed: its writes and the other leader's do not mix. */
import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { startApi, until } from '#test/integration/daemons/api.js';

t.setTimeout(180_000);

/** How often the leader is stopped. */
const rounds = 3;

t.test('never do two leaders both write', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
  const test = await startApi(t, { dialect, store });
  const maps = test.client.resource(configmaps);
  const children = new Map(
    Array.from({ length: 2 }, () => {
      const child = test.start('#test/integration/daemons/lead-writer.js', [
        `--orchconfig=${test.config}`,
        '--secure-port=0',
        '--orch-api-qps=-1',
        '--leader-elect-lease-duration=2s',
        '--leader-elect-renew-deadline=1500ms',
        '--leader-elect-retry-period=100ms',
      ]);
      return [String(child.pid), child] as const;
    }),
  );
  /** The term of each write, in the order of the store. */
  const written = async () => {
    const { items } = await maps.list({ namespace: 'default' });
    return items
      .filter(({ metadata }) => metadata.name?.startsWith('w-') === true)
      .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ data }) => data?.['term'] ?? '');
  };
  for (let round = 0; round < rounds; round += 1) {
    const before = (await written()).length;
    await until('a manager writes', async () => (await written()).length > before + 20);
    const leader = (await written()).at(-1)?.split(' ')[0] ?? '';
    const child = children.get(leader);
    child?.kill('SIGSTOP');
    await until('the other one writes', async () => (await written()).at(-1)?.split(' ')[0] !== leader);
    child?.kill('SIGCONT');
  }
  const terms = await written();
  const order = terms.filter((term, i) => term !== terms[i - 1]);
  t.equal(new Set(order).size, order.length, `each term's writes are together: ${order.join(', ')}`);
  t.ok(order.length > rounds);
  const lease = await test.client.resource(leases).get('lead-writer', { namespace: dialect.namespaces.system });
  t.ok((lease.spec?.leaseTransitions ?? 0) >= rounds);
});
