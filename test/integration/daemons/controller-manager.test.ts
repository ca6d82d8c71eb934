/** The controller manager as a process: with its controllers' own accounts, and after the loss of its lease. */
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import { daemonsets, deployments, replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import {
  endpoints,
  events,
  namespaces,
  nodes,
  persistentvolumeclaims,
  pods,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { realClock as clock, formatMicroTime } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { electionKey } from '#apimachinery/leader-fence.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { Connection } from '#client/rest/connection.js';
import { ServiceAccountToken } from '#client/rest/service-account-token.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';
import { type DaemonTest, ended, startApi, until } from '#test/integration/daemons/api.js';

t.setTimeout(180_000);

const system = dialect.namespaces.system;
const common = ['--secure-port=0', '--controllers=serviceaccount,namespace'];

/** A GET of a daemon's port, without verification of its certificate. */
function getInsecurely(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const where = { host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false };
    const call = request(where, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        body += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    call.on('error', reject);
    call.end();
  });
}

async function makesAccounts({ client }: DaemonTest, name: string): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name }, spec: {} });
  await until(
    `the account in ${name}`,
    async () => (await client.resource(serviceaccounts).get('default', { namespace: name })) !== undefined,
  );
}

const labels = { app: 'web' };

/** Creates a set of each kind and waits for its pod. */
async function makesSets({ client }: DaemonTest, namespace: string): Promise<void> {
  const selector = (app: string) => ({ selector: { matchLabels: { app } } });
  const template = (app: string) => ({
    template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  });
  await client.resource(nodes).create({ metadata: { name: 'n1' }, spec: {} });
  const agent = { metadata: { name: 'agent', namespace }, spec: { ...selector('agent'), ...template('agent') } };
  await client.resource(daemonsets).create(agent);
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  await client.resource(statefulsets).create({
    metadata: { name: 'db', namespace },
    spec: {
      serviceName: 'db',
      ...selector('db'),
      ...template('db'),
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    },
  });
  const where = { namespace };
  await until('a daemon', async () => {
    const { status } = await client.resource(daemonsets).get('agent', where);
    return status?.currentNumberScheduled === 1;
  });
  await until(
    'a stateful pod',
    async () => (await client.resource(statefulsets).get('db', where)).status?.replicas === 1,
  );
  await until('its claim', async () => (await client.resource(persistentvolumeclaims).list(where)).items.length === 1);
  const { items } = await client.resource(pods).list({ namespace, labelSelector: 'app=agent' });
  // A controller that replaces a pod needs the right to delete it.
  await client
    .resource(pods)
    .patch(
      items[0]?.metadata.name ?? '',
      { status: { phase: 'Failed' } },
      { namespace, type: 'merge', subresource: 'status' },
    );
  await until('a successor', async () => {
    const now = await client.resource(pods).list({ namespace, labelSelector: 'app=agent' });
    return now.items.length === 1 && now.items[0]?.metadata.uid !== items[0]?.metadata.uid;
  });
}

t.test('each controller acts as a service account of its own, and may do all it has to', async (t) => {
  const test = await startApi(t, { dialect });
  const { client } = test;
  const child = test.start('orch-controller-manager', [
    `--orchconfig=${test.managerConfig}`,
    '--secure-port=0',
    '--leader-elect-retry-period=100ms',
    '--use-service-account-credentials',
  ]);
  let log = '';
  child.stderr?.on('data', (part: Buffer) => {
    log += part.toString();
  });
  await makesAccounts(test, 'a');
  const metadata = { name: 'web', namespace: 'a' };
  await client.resource(services).create({ metadata, spec: { selector: labels, ports: [{ port: 80 }] } });
  await client.resource(deployments).create({
    metadata,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });
  const where = { namespace: 'a' };
  await until('a pod', async () => (await client.resource(pods).list(where)).items.length === 1);
  await until('endpoints', async () => (await client.resource(endpoints).list(where)).items.length === 1);
  await until('slices', async () => (await client.resource(endpointslices).list(where)).items.length === 1);
  await makesSets(test, 'a');
  await client.resource(deployments).delete('web', { ...where, propagationPolicy: 'Background' });
  await until('its end', async () => (await client.resource(replicasets).list(where)).items.length === 0);
  await client.resource(namespaces).delete('a');
  await until('the end of all', async () => {
    const { items } = await client.resource(namespaces).list();
    return !items.some((namespace) => namespace.metadata.name === 'a');
  });
  const { items } = await client.resource(serviceaccounts).list({ namespace: system });
  const accounts = items.map((account) => account.metadata?.name);
  for (const name of ['service-account', 'replicaset', 'namespace', 'statefulset', 'daemon-set'])
    t.ok(accounts.includes(`${name}-controller`), name);
  t.ok(accounts.includes('generic-garbage-collector'));
  // A terminating namespace refuses every client, which says nothing about rights.
  const refusals = log.split('\n').filter((line) => /forbidden/i.test(line) && !line.includes('is being terminated'));
  t.strictSame(refusals, []);
  child.kill('SIGTERM');
  t.equal(await ended(child), 0);
});

t.test('controllers that move have a lock of their own', async (t) => {
  const test = await startApi(t, { dialect });
  const file = join(test.folder, 'migration');
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: `controllermanager.config.${dialect.apiDomain}/v1alpha1`,
      kind: 'LeaderMigrationConfiguration',
      leaderName: 'moving',
      controllerLeaders: [
        { name: 'serviceaccount', component: dialect.components.controllerManager },
        { name: 'podgc', component: 'another-manager' },
      ],
    }),
  );
  const port = await freePort();
  const child = test.start('orch-controller-manager', [
    `--orchconfig=${test.config}`,
    '--controllers=serviceaccount,namespace,podgc',
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--authorization-always-allow-paths=/healthz*,/debug/controllers*',
    '--enable-leader-migration',
    `--leader-migration-config=${file}`,
    '--leader-elect-lease-duration=10s',
    '--leader-elect-renew-deadline=8s',
    '--leader-elect-retry-period=100ms',
  ]);
  await makesAccounts(test, 'a');
  const ask = (path: string) => getInsecurely(port, path);
  const all = await ask('/healthz?verbose');
  for (const name of ['leader-election', 'namespace', 'serviceaccount']) t.match(all.body, `[+]${name} ok\n`);
  t.notMatch(all.body, /podgc/, 'another manager’s');
  t.same(await ask('/healthz/serviceaccount'), { status: 200, body: 'ok' });
  t.equal((await ask('/healthz/podgc')).status, 404);
  const health = async (name: string) => {
    const { status, body } = await ask(`/debug/controllers/${name}`);
    return { status, ...(JSON.parse(body).controllers ?? [])[0] };
  };
  t.match(await health('namespace'), { status: 200, state: 'running', loops: [{ name: 'namespace', errors: [] }] });
  t.match(await health('serviceaccount'), { state: 'running', loops: [{ lastSync: String, counts: { retrying: 0 } }] });
  t.match(await health('podgc'), { state: 'disabled', reason: /another manager/ });
  t.match(await health('job'), { state: 'disabled', reason: '--controllers does not choose it' });
  const page = JSON.parse((await ask('/debug/controllers')).body);
  t.equal(new Set(page.controllers.map(({ name }: { readonly name: string }) => name)).size, page.controllers.length);
  t.match(await getInsecurely(port, '/debug/controllers', { accept: 'text/plain' }), {
    body: /^CONTROLLER +LOOP +STATE .*\n(.*\n)*job +disabled: /,
  });
  t.equal((await ask('/debug/controllers/nonsense')).status, 404);
  const locks = test.client.resource(leases);
  await until('another manager holds the second lock', async () => {
    const lease = await locks.get('moving', { namespace: system });
    const spec = { ...lease.spec, holderIdentity: 'other', renewTime: formatMicroTime(clock.now()) };
    await locks.update({ ...lease, spec });
    return true;
  });
  await until('its controllers stop', async () => (await ask('/healthz/serviceaccount')).status === 404);
  t.match(await health('serviceaccount'), { state: 'stopped', reason: 'this process does not lead' });
  t.equal((await ask('/healthz/namespace')).status, 200, 'the others go on');
  child.kill('SIGTERM');
  t.equal(await ended(child), 0);
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
    return { name, child, leads: async () => log.text.includes('became leader') };
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
      '--leader-elect-lease-duration=4s',
      '--leader-elect-renew-deadline=3s',
      '--leader-elect-retry-period=100ms',
    ]);
    let log = '';
    child.stderr?.on('data', (part: Buffer) => {
      log += part.toString();
    });
    await makesAccounts(test, 'a');
    const locks = test.client.resource(leases);
    const where = { namespace: system };
    await until('another manager leads', async () => {
      const lease = await locks.get(dialect.components.controllerManager, where);
      const spec = { ...lease.spec, holderIdentity: 'other', renewTime: formatMicroTime(clock.now()) };
      await locks.update({ ...lease, spec });
      return true;
    });
    await until('the loss', async () => log.includes('lost leadership'));
    await makesAccounts(test, 'b');
    t.equal(log.match(/became leader/g)?.length, 2);
    await until('events', async () => {
      const { items } = await test.client.resource(events).list(where);
      const said = items
        .filter(({ reason }) => reason === 'LeaderElection')
        .map(({ message }) => message?.split(' ')[1]);
      return said.includes('became') && said.includes('stopped');
    });
    t.equal(child.exitCode, null);
    child.kill('SIGTERM');
    t.equal(await ended(child), 0);
  });
}
