/** Every controller uses its own service account and gets work: no request is refused for missing rights. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import { daemonsets, deployments, replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import {
  configmaps,
  endpoints,
  events,
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  replicationcontrollers,
  resourcequotas,
  secrets,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import { storageclasses, volumeattachments } from '#api/storage/v1/resources.gen.js';
import { realClock as clock, formatTime } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { bootstrapToken } from '#controllers/bootstrapsigner/testing/tokens.js';
import { createAuthority } from '#pki/certificate.js';
import { type DaemonTest, ended, startApi, until } from '#test/integration/daemons/api.js';
import { readMetrics } from '#test/integration/metrics/read-metrics.js';

t.setTimeout(300_000);

const namespace = 'shop';
const where = { namespace };
const system = dialect.namespaces.system;
const gates = '--feature-gates=APIServerIdentity=true,StorageVersionAPI=true';

const cloud = {
  apiVersion: `baremetal.config.${dialect.apiDomain}/v1alpha1`,
  kind: 'BareMetalConfiguration',
  pools: [{ name: 'open', addresses: ['192.0.2.0/24'] }],
  machines: [{ name: 'n1' }, { name: 'n2' }, { name: 'off', shutdown: true }],
};

type Work = Readonly<Record<string, (test: DaemonTest) => Promise<void>>>;

const template = (app: string, spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const setOf = (name: string) => ({ selector: { matchLabels: { app: name } }, template: template(name) });
const claimSpec = (size: string, storageClassName: string) => ({
  accessModes: ['ReadWriteOnce'],
  storageClassName,
  resources: { requests: { storage: size } },
});
const volumeSpec = (storageClassName: string) => ({
  capacity: { storage: '1Gi' },
  accessModes: ['ReadWriteOnce'],
  storageClassName,
});

const podsOf = async ({ client }: DaemonTest, app: string) =>
  (await client.resource(pods).list({ ...where, labelSelector: `app=${app}` })).items;

async function setPhase({ client }: DaemonTest, name: string, phase: string): Promise<void> {
  const options = { ...where, type: 'merge', subresource: 'status' } as const;
  await client.resource(pods).patch(name, { status: { phase } }, options);
}

const isGone = (get: Promise<unknown>) => get.then(() => false, isNotFound);

/** Work for each controller, and how to see that it is done; all of it runs in parallel. */
const work: Work = {
  async 'deployments and disruption budgets'(test) {
    const { client } = test;
    const metadata = { name: 'web', ...where };
    await client.resource(poddisruptionbudgets).create({
      metadata,
      spec: { maxUnavailable: '50%', selector: { matchLabels: { app: 'web' } } },
    });
    await client.resource(deployments).create({ metadata, spec: { replicas: 2, ...setOf('web') } });
    await until('the budget knows the pods', async () => {
      const { status } = await client.resource(poddisruptionbudgets).get('web', where);
      return status?.expectedPods === 2;
    });
    await client.resource(deployments).delete('web', { ...where, propagationPolicy: 'Foreground' });
    await until(
      'the collector follows',
      async () => (await client.resource(replicasets).list(where)).items.length === 0,
    );
  },
  async 'replication controllers, and orphans'(test) {
    const { client } = test;
    const metadata = { name: 'old', ...where };
    const spec = { replicas: 1, selector: { app: 'old' }, template: template('old') };
    await client.resource(replicationcontrollers).create({ metadata, spec });
    await until('a pod', async () => (await podsOf(test, 'old')).length === 1);
    await client.resource(replicationcontrollers).delete('old', { ...where, propagationPolicy: 'Orphan' });
    await until('an orphan', async () => {
      const [pod] = await podsOf(test, 'old');
      return pod !== undefined && (pod.metadata.ownerReferences ?? []).length === 0;
    });
  },
  async 'daemon sets'(test) {
    const { client } = test;
    await client.resource(daemonsets).create({ metadata: { name: 'agent', ...where }, spec: setOf('agent') });
    await until('a daemon', async () => (await podsOf(test, 'agent')).length > 0);
    const [first] = await podsOf(test, 'agent');
    await setPhase(test, first?.metadata.name ?? '', 'Failed');
    await until('another one in its place', async () =>
      (await podsOf(test, 'agent')).every(({ metadata }) => metadata.uid !== first?.metadata.uid),
    );
  },
  async 'stateful sets'(test) {
    const { client } = test;
    const volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: claimSpec('1Gi', 'none') }];
    const spec = { serviceName: 'db', ...setOf('db'), volumeClaimTemplates };
    await client.resource(statefulsets).create({ metadata: { name: 'db', ...where }, spec });
    await until('a pod', async () => (await podsOf(test, 'db')).length === 1);
    const scale = { ...where, type: 'merge' } as const;
    await client.resource(statefulsets).patch('db', { spec: { replicas: 0 } }, scale);
    await until('none', async () => (await podsOf(test, 'db')).length === 0);
  },
  async 'jobs that end and are cleared away'(test) {
    const { client } = test;
    const spec = { ttlSecondsAfterFinished: 0, template: template('once', { restartPolicy: 'Never' }) };
    await client.resource(jobs).create({ metadata: { name: 'once', ...where }, spec });
    await until('its pod', async () => (await podsOf(test, 'once')).length === 1);
    const [pod] = await podsOf(test, 'once');
    await setPhase(test, pod?.metadata.name ?? '', 'Succeeded');
    await until('its end', () => isGone(client.resource(jobs).get('once', where)));
  },
  async 'cron jobs'(test) {
    const { client } = test;
    const jobTemplate = { spec: { template: template('tick', { restartPolicy: 'Never' }) } };
    const spec = { schedule: '* * * * *', suspend: true, jobTemplate };
    await client.resource(cronjobs).create({ metadata: { name: 'tick', ...where }, spec });
    const status = { lastScheduleTime: formatTime(clock.now() - 600_000) };
    await client.resource(cronjobs).patch('tick', { status }, { ...where, type: 'merge', subresource: 'status' });
    await client.resource(cronjobs).patch('tick', { spec: { suspend: false } }, { ...where, type: 'merge' });
    await until('a job that is late', async () => (await podsOf(test, 'tick')).length > 0);
    await client.resource(cronjobs).patch('tick', { spec: { suspend: true } }, { ...where, type: 'merge' });
  },
  async 'services and their endpoints'(test) {
    const { client } = test;
    const ports = [{ port: 80 }];
    await client
      .resource(services)
      .create({ metadata: { name: 'own', ...where }, spec: { selector: { app: 'x' }, ports } });
    await client.resource(services).create({ metadata: { name: 'foreign', ...where }, spec: { ports } });
    const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports }];
    await client.resource(endpoints).create({ metadata: { name: 'foreign', ...where }, subsets });
    const served = async (name: string) =>
      (await client.resource(endpointslices).list(where)).items.filter(({ metadata }) =>
        metadata.generateName?.startsWith(`${name}-`),
      );
    for (const name of ['own', 'foreign'])
      await until(`slices of ${name}`, async () => (await served(name)).length === 1);
    await until('endpoints', async () => (await client.resource(endpoints).get('own', where)) !== undefined);
    await client.resource(services).delete('own', where);
    await until('their end', () => isGone(client.resource(endpoints).get('own', where)));
  },
  async 'load balancers, and machines'({ client }) {
    const spec = { type: 'LoadBalancer', selector: { app: 'x' }, ports: [{ port: 80 }] };
    await client.resource(services).create({ metadata: { name: 'public', ...where }, spec });
    await until('an address', async () => {
      const { status } = await client.resource(services).get('public', where);
      return status?.loadBalancer?.ingress?.[0]?.ip !== undefined;
    });
    for (const name of ['off', 'lost']) await client.resource(nodes).create({ metadata: { name }, spec: {} });
    await until('the machine is known to be off', async () => {
      const { spec: now } = await client.resource(nodes).get('off');
      return now.taints?.some(({ key }) => key.includes('shutdown')) === true;
    });
    await until('a node without a machine goes', () => isGone(client.resource(nodes).get('lost')));
    await client.resource(services).delete('public', where);
    await until('its load balancer, too', () => isGone(client.resource(services).get('public', where)));
  },
  async 'claims and volumes'(test) {
    const { client } = test;
    const classes = client.resource(storageclasses);
    const provisioner = 'disk.example.com';
    await classes.create({ metadata: { name: 'slow' }, provisioner, allowVolumeExpansion: true });
    const [volumes, claims] = [client.resource(persistentvolumes), client.resource(persistentvolumeclaims)];
    const csi = { driver: provisioner, volumeHandle: 'h' };
    await volumes.create({ metadata: { name: 'disk' }, spec: { ...volumeSpec('slow'), csi } });
    await claims.create({ metadata: { name: 'disk', ...where }, spec: claimSpec('1Gi', 'slow') });
    await until('bound', async () => (await claims.get('disk', where)).status?.phase === 'Bound');
    await claims.patch('disk', { spec: { resources: { requests: { storage: '2Gi' } } } }, { ...where, type: 'merge' });
    await until('its growth is for others', () => hasEvent(test, 'ExternalExpanding', 'disk'));
    const spec = {
      nodeName: 'n1',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'c', image: 'i' }],
      volumes: [
        { name: 'd', persistentVolumeClaim: { claimName: 'disk' } },
        { name: 'e', ephemeral: { volumeClaimTemplate: { spec: claimSpec('1Gi', 'none') } } },
      ],
    };
    await client.resource(pods).create({ metadata: { name: 'user', ...where }, spec });
    await until('a claim of the pod’s own', async () => (await claims.get('user-e', where)) !== undefined);
    const attachments = client.resource(volumeattachments);
    await until('an attachment', async () => (await attachments.list()).items.length === 1);
    const [attachment] = (await attachments.list()).items;
    await attachments.patch(
      attachment?.metadata.name ?? '',
      { status: { attached: true } },
      { type: 'merge', subresource: 'status' },
    );
    await until('the node is told', async () => {
      const { status } = await client.resource(nodes).get('n1');
      return status?.volumesAttached?.length === 1;
    });
    await claims.delete('disk', where);
    await client.resource(pods).delete('user', { ...where, gracePeriodSeconds: 0 });
    await until('detached', async () => {
      const { items } = await attachments.list();
      return items.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
    });
    await until('unprotected', () => isGone(claims.get('disk', where)));
    await until('released', async () => (await volumes.get('disk')).status?.phase !== 'Bound');
    await volumes.delete('disk');
    await until('unprotected', () => isGone(volumes.get('disk')));
  },
  async quotas({ client }) {
    const spec = { hard: { configmaps: '9', pods: '99' } };
    await client.resource(resourcequotas).create({ metadata: { name: 'q', ...where }, spec });
    await until('usage', async () => {
      const { status } = await client.resource(resourcequotas).get('q', where);
      return Number(status?.used?.['configmaps']) > 0;
    });
  },
  async 'ranges and patience of nodes'({ client }) {
    await until('both', async () => {
      const { metadata, spec } = await client.resource(nodes).get('n1');
      return spec.podCIDR !== undefined && metadata.annotations?.[dialect.annotations.nodeTTL] !== undefined;
    });
  },
  async 'nodes that fail'({ client }) {
    const toleration = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 };
    const spec = { nodeName: 'n2', containers: [{ name: 'c', image: 'i' }], tolerations: [toleration] };
    await client.resource(pods).create({ metadata: { name: 'stranded', ...where }, spec });
    await setReady(client, 'n2', 'False');
    await until('the pod is asked to leave', async () => {
      const { metadata } = await client.resource(pods).get('stranded', where);
      return metadata.deletionTimestamp !== undefined;
    });
  },
  async 'roles that are made of others'({ client }) {
    const labels = { [`rbac.authorization.${dialect.apiDomain}/aggregate-to-view`]: 'true' };
    const rules = [{ apiGroups: ['example.com'], resources: ['turns'], verbs: ['get'] }];
    await client.resource(clusterroles).create({ metadata: { name: 'turns', labels }, rules });
    await until('the role has them', async () => {
      const { rules, metadata } = await client.resource(clusterroles).get('view');
      const [entry] = metadata.managedFields?.filter(({ operation }) => operation === 'Apply') ?? [];
      return (
        rules?.some(({ resources }) => resources?.includes('turns')) === true &&
        entry?.manager === 'clusterrole-aggregation-controller'
      );
    });
  },
  async tokens({ client }) {
    await until('an account', async () => (await client.resource(serviceaccounts).get('default', where)) !== undefined);
    await client.resource(secrets).create({
      metadata: { name: 'token', ...where, annotations: { [dialect.annotations.serviceAccountName]: 'default' } },
      type: dialect.secretTypes.serviceAccountToken,
    });
    await until(
      'its token',
      async () => (await client.resource(secrets).get('token', where)).data?.['token'] !== undefined,
    );
    const open = dialect.namespaces.public;
    await client.resource(secrets).create(bootstrapToken(dialect, 'abcdef'));
    const data = { [`${dialect.shortName}config`]: 'what strangers are told' };
    await client.resource(configmaps).create({ metadata: { name: 'cluster-info', namespace: open }, data });
    await until('a signature', async () => {
      const { data: now = {} } = await client.resource(configmaps).get('cluster-info', { namespace: open });
      return now[`jws-${dialect.shortName}config-abcdef`] !== undefined;
    });
    const expiration = formatTime(clock.now() - 1000);
    await client.resource(secrets).create(bootstrapToken(dialect, 'fedcba', { expiration }));
    await until('one ends', () =>
      isGone(client.resource(secrets).get('bootstrap-token-fedcba', { namespace: system })),
    );
  },
  async 'storage versions of servers that are gone'({ client }) {
    const resource = client.resource(storageversions);
    const metadata = { name: 'example.com.turns' };
    await resource.create({ metadata, spec: {}, status: {} });
    const version = { apiServerID: 'gone', encodingVersion: 'v1', decodableVersions: ['v1'] };
    const status = { storageVersions: [version], commonEncodingVersion: 'v1' };
    await resource.patch(metadata.name, { status }, { type: 'merge', subresource: 'status' });
    await until('none is left', () => isGone(resource.get(metadata.name)));
  },
};

async function hasEvent({ client }: DaemonTest, reason: string, name: string): Promise<boolean> {
  const { items } = await client.resource(events).list(where);
  return items.some((event) => event.reason === reason && event.involvedObject.name === name);
}

async function setReady(client: DaemonTest['client'], node: string, status: string): Promise<void> {
  const time = formatTime(clock.now());
  const condition = { type: 'Ready', status, lastHeartbeatTime: time, lastTransitionTime: time };
  await client
    .resource(nodes)
    .patch(node, { status: { conditions: [condition] } }, { type: 'merge', subresource: 'status' });
}

/** The counters of refused requests that are not 0. */
async function refusals(port: number): Promise<string[]> {
  const { text } = await readMetrics(port, '/metrics', { authorization: 'Bearer root' });
  return text.split('\n').filter((line) => /^apiserver_request_total\{.*code="403".*\} [1-9]/.test(line));
}

async function startManager(test: DaemonTest) {
  const authority = await createAuthority({ commonName: 'test', now: clock.now() });
  const file = async (name: string, text: string) => {
    await writeFile(join(test.folder, name), text);
    return join(test.folder, name);
  };
  const child = test.start('orch-controller-manager', [
    `--orchconfig=${test.managerConfig}`,
    '--secure-port=0',
    '--leader-elect=false',
    '--controllers=*,bootstrapsigner,tokencleaner',
    '--use-service-account-credentials',
    gates,
    `--root-ca-file=${await file('ca.crt', authority.certificate)}`,
    `--service-account-private-key-file=${join(test.folder, 'sa.key')}`,
    `--cluster-signing-cert-file=${await file('ca.crt', authority.certificate)}`,
    `--cluster-signing-key-file=${await file('ca.key', authority.privateKey)}`,
    '--cloud-provider=bare-metal',
    `--cloud-config=${await file('cloud.yaml', JSON.stringify(cloud))}`,
    '--allocate-node-cidrs',
    '--cluster-cidr=10.244.0.0/16',
    // Nodes say when they fail.
    '--node-monitor-grace-period=1h',
    '--node-startup-grace-period=1h',
    '--node-monitor-period=100ms',
    '--terminated-pod-gc-threshold=5',
    '--orch-api-qps=500',
    '--orch-api-burst=1000',
  ]);
  const log = { text: '' };
  child.stderr?.on('data', (part: Buffer) => {
    log.text += part.toString();
  });
  return { child, log };
}

t.test('no controller is refused anything', async (t) => {
  const test = await startApi(t, { dialect, args: [gates] });
  const { client, port } = test;
  const { child, log } = await startManager(test);
  await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  const annotations = { [dialect.annotations.controllerAttachDetach]: 'true' };
  for (const name of ['n1', 'n2']) {
    await client.resource(nodes).create({ metadata: { name, annotations }, spec: {} });
    await setReady(client, name, 'True');
  }
  await until('what each namespace has', async () => {
    const { items } = await client.resource(configmaps).list(where);
    return items.length > 0 && (await client.resource(serviceaccounts).get('default', where)) !== undefined;
  });
  const done = await Promise.allSettled(Object.values(work).map((each) => each(test)));
  for (const [i, name] of Object.keys(work).entries()) {
    const result = done[i];
    t.equal(result?.status === 'rejected' ? String(result.reason) : 'done', 'done', name);
  }
  const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] };
  for (let i = 0; i < 7; i += 1) {
    await client.resource(pods).create({ metadata: { name: `ended${i}`, ...where, labels: { app: 'ended' } }, spec });
    await setPhase(test, `ended${i}`, 'Failed');
  }
  await until('some of those that ended go', async () => (await podsOf(test, 'ended')).length < 7);
  t.same(await refusals(port), []);
  await readMetrics(port, '/api/v1/pods');
  t.equal((await refusals(port)).length, 1, 'they would be seen');

  const { items } = await client.resource(events).list(where);
  const sources = new Set(items.map(({ source }) => source?.component));
  for (const name of ['deployment-controller', 'job-controller', 'taint-controller', 'persistentvolume-controller'])
    t.ok(sources.has(name), `events of ${name}`);
  const accounts = (await client.resource(serviceaccounts).list({ namespace: system })).items.map(
    ({ metadata }) => metadata?.name ?? '',
  );
  for (const name of ['storage-version-garbage-collector', 'ttl-after-finished-controller', 'token-cleaner'])
    t.ok(accounts.includes(name), name);

  await client.resource(namespaces).delete(namespace);
  await until('the namespace ends', async () => {
    for (const pod of (await client.resource(pods).list(where)).items)
      await client.resource(pods).delete(pod.metadata.name ?? '', { ...where, gracePeriodSeconds: 0 });
    return isGone(client.resource(namespaces).get(namespace));
  });
  // A terminating namespace refuses every client, which says nothing about rights.
  const refused = log.text
    .split('\n')
    .filter((line) => /forbidden/i.test(line) && !line.includes('is being terminated'));
  t.same(refused, []);
  child.kill('SIGTERM');
  t.equal(await ended(child), 0);
});
