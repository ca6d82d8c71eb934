/** The controller manager as a process: with its controllers' own accounts, and when it loses the lead. */
import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { namespaces, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { realClock as clock, formatMicroTime } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { Connection } from '#client/rest/connection.js';
import { ServiceAccountToken } from '#client/rest/service-account-token.js';
import { electionKey } from '#storage/election-key.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { type DaemonTest, ended, startApi, until } from '#test/integration/daemons/api.js';

const system = dialect.namespaces.system;
const common = ['--secure-port=0', '--controllers=serviceaccount,namespace'];

async function makesAccounts({ client }: DaemonTest, name: string): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name }, spec: {} });
  await until(
    `the account in ${name}`,
    async () => (await client.resource(serviceaccounts).get('default', { namespace: name })) !== undefined,
  );
}

t.test('each controller acts as a service account of its own', async (t) => {
  const test = await startApi(t, { dialect, mode: 'AlwaysAllow' });
  test.start('orch-controller-manager', [
    `--orchconfig=${test.config}`,
    ...common,
    '--leader-elect=false',
    '--use-service-account-credentials',
  ]);
  await makesAccounts(test, 'a');
  const { items } = await test.client.resource(serviceaccounts).list({ namespace: system });
  t.ok(items.some(({ metadata }) => metadata?.name === 'service-account-controller'));
});

t.test('a connection with an account’s token is that account', async (t) => {
  const test = await startApi(t, { dialect });
  const config = await loadKubeconfig(test.config, { clock });
  const root = new Connection(config, { dialect, clock, program: 'test', qps: 0, burst: 1 });
  const account = { namespace: system, name: 'robot' };
  const token = new ServiceAccountToken({ client: root.client('tokens'), clock, ...account });
  const robot = root.as(token).client('work');
  await t.rejects(robot.resource(pods).list({ namespace: 'default' }), {
    reason: 'Forbidden',
    message: /User "system:serviceaccount:orch-system:robot" cannot list/,
  });
  t.same((await root.client('more').resource(pods).list()).items, []);
  await root.close();
  await t.rejects(robot.resource(pods).list(), { message: /closed/ });
});

t.test('a lock in etcd keeps all others out until its holder goes', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
  const test = await startApi(t, { dialect, store });
  const start = (name: string) => {
    const child = test.start('orch-controller-manager', [
      `--orchconfig=${test.config}`,
      ...common,
      '--leader-elect-resource-lock=etcdleases',
      `--etcd-servers=${etcd.endpoint}`,
      '--leader-elect-lease-duration=3s',
      '--leader-elect-renew-deadline=2s',
      '--leader-elect-retry-period=100ms',
    ]);
    const log = { text: '' };
    child.stderr?.on('data', (part: Buffer) => {
      log.text += part.toString();
    });
    return { name, child, leads: async () => log.text.includes('Became leader') };
  };
  const first = start('first');
  await until('the first one leads', first.leads);
  const second = start('second');
  await makesAccounts(test, 'a');
  first.child.kill('SIGKILL');
  await until('the second one leads, once the etcd lease has ended', second.leads);
  await makesAccounts(test, 'b');
  second.child.kill('SIGTERM');
  t.equal(await ended(second.child), 0);
  const key = electionKey(system, dialect.components.controllerManager);
  t.same((await store.range({ start: key, end: `${key}\0` })).kvs, [], 'released');
});

for (const kind of ['leases', 'endpointsleases']) {
  t.test(`who loses the lead (${kind}) stops, lives on, and leads again`, async (t) => {
    const test = await startApi(t, { dialect });
    const child = test.start('orch-controller-manager', [
      `--orchconfig=${test.config}`,
      ...common,
      `--leader-elect-resource-lock=${kind}`,
      '--leader-elect-lease-duration=2s',
      '--leader-elect-renew-deadline=1s',
      '--leader-elect-retry-period=100ms',
    ]);
    let log = '';
    child.stderr?.on('data', (part: Buffer) => {
      log += part.toString();
    });
    await makesAccounts(test, 'a');
    const locks = test.client.resource(leases);
    const where = { namespace: system };
    await until('somebody else leads', async () => {
      const lease = await locks.get(dialect.components.controllerManager, where);
      const spec = { ...lease.spec, holderIdentity: 'other', renewTime: formatMicroTime(clock.now()) };
      await locks.update({ ...lease, spec });
      return true;
    });
    await until('the loss', async () => log.includes('Lost leadership'));
    await makesAccounts(test, 'b');
    t.equal(log.match(/Became leader/g)?.length, 2);
    t.equal(child.exitCode, null);
    child.kill('SIGTERM');
    t.equal(await ended(child), 0);
  });
}
