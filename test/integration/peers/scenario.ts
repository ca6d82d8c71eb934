/** The behaviour of a release's controllers in the API, independent of the implementation. */
import type { Test } from 'tap';
import { daemonsets, deployments, replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { jobs } from '#api/batch/v1/resources.gen.js';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import {
  configmaps,
  endpoints,
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  resourcequotas,
  secrets,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import { realClock as clock, formatMicroTime, formatTime } from '#apimachinery/clock.js';
import { isConflict } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { certificateRequest } from '#pki/testing/certificate-request.js';
import { runPods, until } from '#test/integration/controllers/cluster.js';

const namespace = 'shop';
const where = { namespace };
const labels = (app: string) => ({ metadata: { labels: { app } } });
const template = (app: string, image = 'v1') => ({
  ...labels(app),
  spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image }] },
});
const selector = (app: string) => ({ matchLabels: { app } });

/** Runs all checks. `client` has all rights; no scheduler or node agent runs. */
export async function controllersWork(t: Test, client: Client): Promise<void> {
  await startNodes(t, client);
  await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  const account = () => client.resource(serviceaccounts).get('default', where);
  await until('the default account', account, () => true);
  const rootCA = () => client.resource(configmaps).get('kube-root-ca.crt', where);
  await until('the root CA', rootCA, ({ data }) => data?.['ca.crt']?.includes('BEGIN CERTIFICATE') === true);
  runPods(t, client);
  const running = [deploymentsRoll, statefulSetsKeepOrder, daemonsRun, jobsEnd, limitsAreCounted, identitiesAreMade];
  await Promise.all(running.map((work) => t.test(work.name, { buffered: true }, (t) => work(t, client))));
  await t.test('lostNodesAreSeen', (t) => lostNodesAreSeen(t, client));
  await t.test('namespacesEnd', (t) => namespacesEnd(t, client));
}

/** Nodes whose agents renew their leases. */
async function startNodes(t: Test, client: Client): Promise<void> {
  const stop = new AbortController();
  const renewing: Promise<void>[] = [];
  t.teardown(async () => {
    stop.abort();
    await Promise.all(renewing);
  });
  for (const name of ['n1', 'n2']) {
    await createNode(client, name);
    const owned = { namespace: 'kube-node-lease' };
    await until(
      'the namespace of leases',
      () => client.resource(namespaces).get(owned.namespace),
      () => true,
    );
    let lease = await client
      .resource(leases)
      .create({ metadata: { name, ...owned }, spec: { holderIdentity: name, leaseDurationSeconds: 40 } });
    const renew = async () => {
      while (!stop.signal.aborted) {
        const spec = { ...lease.spec, renewTime: formatMicroTime(clock.now()) };
        lease = await client.resource(leases).update({ ...lease, spec });
        await clock.sleep(1000, stop.signal);
      }
    };
    renewing.push(renew().catch((error: unknown) => void t.error(error, `renewing the lease of ${name}`)));
  }
}

async function createNode(client: Client, name: string): Promise<void> {
  const node = await client.resource(nodes).create({ metadata: { name }, spec: {} });
  const now = formatTime(clock.now());
  const times = { lastHeartbeatTime: now, lastTransitionTime: now };
  const status = {
    conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady', message: '', ...times }],
    allocatable: { cpu: '8', memory: '8Gi', pods: '110' },
    capacity: { cpu: '8', memory: '8Gi', pods: '110' },
  };
  await client.resource(nodes).patch(node.metadata.name ?? '', { status }, { type: 'merge', subresource: 'status' });
}

async function deploymentsRoll(t: Test, client: Client): Promise<void> {
  const metadata = { name: 'web', namespace };
  const spec = { replicas: 3, selector: selector('web'), template: template('web') };
  await client.resource(services).create({ metadata, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } });
  await client.resource(deployments).create({ metadata, spec });
  const rolledOut = (revision: string) =>
    until(
      `revision ${revision} is rolled out`,
      () => client.resource(deployments).get('web', where),
      ({ metadata, status }) =>
        metadata.annotations?.['deployment.kubernetes.io/revision'] === revision &&
        status?.observedGeneration === metadata.generation &&
        status?.availableReplicas === 3 &&
        status.updatedReplicas === 3 &&
        status.replicas === 3,
    );
  await rolledOut('1');
  await client
    .resource(deployments)
    .patch('web', { spec: { template: template('web', 'v2') } }, { type: 'strategic', ...where });
  const { status } = await rolledOut('2');
  t.match(status?.conditions, [
    { type: 'Available', status: 'True' },
    { type: 'Progressing', reason: 'NewReplicaSetAvailable' },
  ]);
  const sets = (await client.resource(replicasets).list({ ...where, labelSelector: 'app=web' })).items;
  t.same(sets.map(({ spec }) => spec.replicas).sort(), [0, 3]);
  await until(
    'its endpoints',
    () => client.resource(endpoints).get('web', where),
    ({ subsets }) => subsets?.length === 1 && subsets[0]?.addresses?.length === 3,
  );
  await until(
    'its slices',
    () => client.resource(endpointslices).list({ ...where, labelSelector: 'kubernetes.io/service-name=web' }),
    ({ items }) => items.length === 1 && items[0]?.endpoints.length === 3,
  );
  await client.resource(deployments).delete('web', { ...where, propagationPolicy: 'Foreground' });
  await until(
    'all its objects are deleted',
    () => client.resource(pods).list({ ...where, labelSelector: 'app=web' }),
    ({ items }) => items.length === 0,
  );
}

async function statefulSetsKeepOrder(t: Test, client: Client): Promise<void> {
  const volume = { accessModes: ['ReadWriteOnce'], storageClassName: 'none' };
  for (const name of ['one', 'two']) {
    const spec = { ...volume, capacity: { storage: '1Gi' }, hostPath: { path: `/tmp/${name}` } };
    await client.resource(persistentvolumes).create({ metadata: { name }, spec });
  }
  const claim = { ...volume, resources: { requests: { storage: '1Gi' } } };
  await client.resource(statefulsets).create({
    metadata: { name: 'db', namespace },
    spec: {
      replicas: 2,
      serviceName: 'db',
      selector: selector('db'),
      template: template('db'),
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    },
  });
  await until(
    'both are ready',
    () => client.resource(statefulsets).get('db', where),
    ({ status }) => status?.readyReplicas === 2 && status.currentRevision === status.updateRevision,
  );
  const claims = await until(
    'their claims are bound',
    () => client.resource(persistentvolumeclaims).list(where),
    ({ items }) => items.length === 2 && items.every(({ status }) => status?.phase === 'Bound'),
  );
  t.same(claims.items.map(({ spec }) => spec.volumeName).sort(), ['one', 'two']);
  t.ok(claims.items.every(({ metadata }) => metadata.finalizers?.includes('kubernetes.io/pvc-protection')));
}

async function daemonsRun(t: Test, client: Client): Promise<void> {
  const spec = { selector: selector('agent'), template: template('agent') };
  await client.resource(daemonsets).create({ metadata: { name: 'agent', namespace }, spec });
  await until(
    'one on each node',
    () => client.resource(daemonsets).get('agent', where),
    ({ status }) => status?.desiredNumberScheduled === 2 && status.numberAvailable === 2,
  );
  const { items } = await client.resource(pods).list({ ...where, labelSelector: 'app=agent' });
  t.same(items.map((pod) => pod.spec.nodeName).sort(), ['n1', 'n2']);
}

async function jobsEnd(t: Test, client: Client): Promise<void> {
  const make = (name: string, image: string, more: object) =>
    client.resource(jobs).create({
      metadata: { name, namespace },
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image }] } }, ...more },
    });
  const ends = (name: string, condition: string) =>
    until(
      `job ${name} is ${condition}`,
      () => client.resource(jobs).get(name, where),
      ({ status }) => status?.conditions?.some(({ type, status }) => type === condition && status === 'True') === true,
    );
  await make('many', 'succeeds', { completions: 5, parallelism: 3, completionMode: 'Indexed' });
  await make('bad', 'fails', { backoffLimit: 0 });
  await make('brief', 'succeeds', { ttlSecondsAfterFinished: 1 });
  t.match((await ends('many', 'Complete')).status, { succeeded: 5, completedIndexes: '0-4' });
  t.match((await ends('bad', 'Failed')).status?.conditions, [{ reason: 'BackoffLimitExceeded' }]);
  await until(
    'the finished job is deleted',
    () => client.resource(jobs).list(where),
    ({ items }) => !items.some(({ metadata }) => metadata.name === 'brief'),
  );
}

async function limitsAreCounted(t: Test, client: Client): Promise<void> {
  const spec = { hard: { 'count/replicasets.apps': '20', configmaps: '20' } };
  await client.resource(resourcequotas).create({ metadata: { name: 'all', namespace }, spec });
  const metadata = { name: 'guarded', namespace };
  const minAvailable = { minAvailable: 1, selector: selector('guarded') };
  await client.resource(poddisruptionbudgets).create({ metadata, spec: minAvailable });
  const replicas = { replicas: 2, selector: selector('guarded'), template: template('guarded') };
  await client.resource(replicasets).create({ metadata, spec: replicas });
  await until(
    'a disruption is allowed',
    () => client.resource(poddisruptionbudgets).get('guarded', where),
    ({ status }) => status?.disruptionsAllowed === 1 && status.expectedPods === 2,
  );
  const quota = await until(
    'existing objects are counted',
    () => client.resource(resourcequotas).get('all', where),
    ({ status }) => status?.used?.['configmaps'] === '1' && Number(status.used['count/replicasets.apps']) >= 1,
  );
  t.same(quota.status?.hard, spec.hard);
}

async function identitiesAreMade(t: Test, client: Client): Promise<void> {
  const annotations = { 'kubernetes.io/service-account.name': 'default' };
  const type = 'kubernetes.io/service-account-token';
  await client.resource(secrets).create({ metadata: { name: 'token', namespace, annotations }, type });
  await until(
    'a token',
    () => client.resource(secrets).get('token', where),
    ({ data }) => data?.['token'] !== undefined && data['ca.crt'] !== undefined,
  );

  const requests = client.resource(certificatesigningrequests);
  const { request: pem } = await certificateRequest({ subject: { commonName: 'user', organizations: ['people'] } });
  const spec = {
    request: pem,
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
  };
  let request = await requests.create({ metadata: { name: 'user' }, spec });
  const approved = { type: 'Approved', status: 'True', reason: 'Test', message: 'asked for' };
  request = { ...request, status: { conditions: [approved] } };
  await client.request('PUT', '/apis/certificates.k8s.io/v1/certificatesigningrequests/user/approval', request);
  await until(
    'a certificate',
    () => requests.get('user'),
    ({ status }) => status?.certificate !== undefined,
  );

  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { part: 'yes' } }] };
  await client.resource(clusterroles).create({ metadata: { name: 'whole' }, aggregationRule, rules: [] });
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
  await client.resource(clusterroles).create({ metadata: { name: 'part', labels: { part: 'yes' } }, rules });
  t.match(
    await until(
      'the role of roles',
      () => client.resource(clusterroles).get('whole'),
      (role) => (role.rules ?? []).length === 1,
    ),
    { rules },
  );

  const bootstrap = (id: string, more: Record<string, string>) =>
    client.resource(secrets).create({
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', ...more },
    });
  const publicWhere = { namespace: 'kube-public' };
  const kubeconfig = 'apiVersion: v1\nkind: Config\n';
  await client
    .resource(configmaps)
    .create({ metadata: { name: 'cluster-info', ...publicWhere }, data: { kubeconfig } });
  await bootstrap('abcdef', { 'usage-bootstrap-signing': 'true' });
  await until(
    'a signature',
    () => client.resource(configmaps).get('cluster-info', publicWhere),
    ({ data }) => data?.['jws-kubeconfig-abcdef'] !== undefined,
  );
  await bootstrap('ghijkl', { expiration: formatTime(clock.now() + 2000) });
  await until(
    'the end of a token',
    () =>
      client.resource(secrets).list({ namespace: 'kube-system', fieldSelector: 'type=bootstrap.kubernetes.io/token' }),
    ({ items }) => items.length === 1,
  );
}

async function lostNodesAreSeen(t: Test, client: Client): Promise<void> {
  await createNode(client, 'lost');
  const node = await until(
    'a node without heartbeats is lost',
    () => client.resource(nodes).get('lost'),
    ({ spec, status }) =>
      status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'Unknown') === true &&
      spec.taints?.some(({ key, effect }) => key === 'node.kubernetes.io/unreachable' && effect === 'NoExecute') ===
        true,
  );
  t.match(node.status?.conditions, [{ reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' }]);
  await until(
    'other nodes are not lost',
    () => client.resource(nodes).list(),
    ({ items }) =>
      items.every(
        ({ metadata, status }) =>
          metadata.name === 'lost' || status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'),
      ),
  );
}

async function namespacesEnd(t: Test, client: Client): Promise<void> {
  await client
    .resource(namespaces)
    .delete(namespace)
    .catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
  const { items } = await until(
    'the namespace is deleted',
    () => client.resource(namespaces).list(),
    ({ items }) => !items.some(({ metadata }) => metadata.name === namespace),
  );
  t.ok(items.length > 0);
  t.same((await client.resource(pods).list(where)).items, []);
}
