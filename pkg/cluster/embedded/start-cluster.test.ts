import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { parse } from 'yaml';
import { deployments } from '#api/apps/v1/resources.gen.js';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import { namespaces, nodes, persistentvolumeclaims, pods, services } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { blockContains, parseCIDR } from '#apimachinery/net/ip.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import { type Cluster, startCluster } from '#cluster/embedded/start-cluster.js';

t.setTimeout(180_000);

function deployment(name: string, replicas: number): Deployment {
  const labels = { app: name };
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'web:1' }] } },
    },
  };
}

async function untilAvailable(cluster: Cluster, name: string, replicas: number): Promise<void> {
  const options = { namespace: 'default', fieldSelector: `metadata.name=${name}`, signal: AbortSignal.timeout(30_000) };
  for await (const { object } of cluster.client.resource(deployments).watch(options)) {
    if (object.status?.availableReplicas === replicas) return;
  }
  throw new Error(`${name} has no ${replicas} available replicas`);
}

t.test('a deployment runs on simulated nodes and is deleted', async (t) => {
  const cluster = await startCluster({ nodes: 3 });
  t.teardown(() => cluster.close());
  const ranges = new Map(
    (await cluster.client.resource(nodes).list()).items.map(({ metadata, spec }) => [metadata.name, spec.podCIDR]),
  );
  t.equal(new Set(ranges.values()).size, 3, 'each node has a range of its own');
  await cluster.client.resource(deployments).create(deployment('web', 6));
  await untilAvailable(cluster, 'web', 6);
  const { items } = await cluster.client.resource(pods).list({ namespace: 'default', labelSelector: 'app=web' });
  t.same(
    items.map((pod) => pod.status?.phase),
    Array(6).fill('Running'),
  );
  t.equal(new Set(items.map((pod) => pod.spec.nodeName)).size, 3, 'spread over the nodes');
  for (const { spec, status } of items) {
    const range = parseCIDR(ranges.get(spec.nodeName) ?? '');
    t.ok(range && blockContains(range, status?.podIP ?? ''), `${status?.podIP} is in the range of its node`);
  }
  const spec = { selector: { app: 'web' }, ports: [{ port: 80 }] };
  const service = { metadata: { name: 'web', namespace: 'default' }, spec };
  const { spec: created } = await cluster.client.resource(services).create(service);
  t.same(await cluster.resolve('web'), [created.clusterIP], 'names resolve as in pods');
  t.same(await cluster.resolve('web.default.svc.cluster.local.', 'other'), [created.clusterIP]);
  t.same(await cluster.resolve('web', 'other'), []);
  const get = async (host: string, port = 80) => {
    const stream = await cluster.dial(host, port);
    stream.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    return text(stream);
  };
  const names = new Set(items.map(({ metadata }) => metadata.name));
  const isThere = () => cluster.dial('web', 80).then((stream) => stream.destroy());
  // The service's endpoints follow a moment later.
  while (
    !(await isThere().then(
      () => true,
      () => false,
    ))
  )
    await realClock.sleep(10);
  for (const host of ['web', 'web.default.svc.cluster.local', created.clusterIP ?? '']) {
    const said = await get(host);
    t.ok(names.has(/Hello from (\S+)/.exec(said)?.[1] ?? ''), `${host}: ${said}`);
  }
  t.match(await get(items[0]?.status?.podIP ?? '', 8080), `Hello from ${items[0]?.metadata.name}`, 'a pod');
  await t.rejects(cluster.dial('unknown', 80), { code: 'ENOTFOUND' });
  await t.rejects(cluster.dial('web', 81), { code: 'ECONNREFUSED' }, 'the service has no such port');
  await t.rejects(cluster.dial('10.15.0.1', 80), { code: 'ECONNREFUSED' });
  await cluster.client.resource(services).delete('web', { namespace: 'default' });
  t.same(await cluster.resolve('web'), []);
  await cluster.client.resource(deployments).delete('web', { namespace: 'default' });
  const gone = { namespace: 'default', signal: AbortSignal.timeout(60_000) };
  for (;;) {
    const { items, metadata } = await cluster.client.resource(pods).list(gone);
    if (items.length === 0) break;
    // Watch from the list's version, so that pods deleted before the watch begins are reported too.
    const since = { ...gone, resourceVersion: metadata?.resourceVersion ?? '' };
    for await (const { type } of cluster.client.resource(pods).watch(since)) if (type === 'DELETED') break;
  }
  t.pass('the pods are deleted');
});

t.test('the test answers connections to pods', async (t) => {
  const server = createServer((request, response) => response.end(`${request.headers.host} got ${request.url}`));
  const connections: string[] = [];
  const cluster = await startCluster({
    onConnection: ({ name, namespace, port, stream }) => {
      connections.push(`${namespace}/${name}:${port}`);
      server.emit('connection', stream);
    },
  });
  t.teardown(() => cluster.close());
  const pod = { containers: [{ name: 'c', image: 'web:1' }] };
  await cluster.client.resource(pods).create({ metadata: { name: 'web', namespace: 'default' }, spec: pod });
  const running = { namespace: 'default', fieldSelector: 'metadata.name=web', signal: AbortSignal.timeout(30_000) };
  let address = '';
  for await (const { object } of cluster.client.resource(pods).watch(running)) {
    address = object.status?.podIP ?? '';
    if (object.status?.phase === 'Running') break;
  }
  const socket = await cluster.dial(address, 8080);
  const asking = httpRequest({
    createConnection: () => socket as Socket,
    path: '/page',
    headers: { host: 'shop' },
  }).end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  t.equal(await text(answer), 'shop got /page');
  t.same(connections, ['default/web:8080']);
});

t.test('two clusters in one process are independent', async (t) => {
  const clusters = await Promise.all([startCluster({ nodes: 1 }), startCluster({ nodes: 0, dialect: 'kubernetes' })]);
  t.teardown(() => Promise.all(clusters.map((cluster) => cluster.close())));
  const [one, two] = clusters;
  await one.client.resource(namespaces).create({ metadata: { name: 'only-here' }, spec: {} });
  const names = async (cluster: Cluster) =>
    (await cluster.client.resource(namespaces).list()).items.map((namespace) => namespace.metadata.name);
  t.ok((await names(one)).includes('only-here'));
  t.notOk((await names(two)).includes('only-here'));
  t.ok((await names(one)).includes('orch-system'));
  t.ok((await names(two)).includes('kube-system'));
});

t.test('requests without a socket are authorized too', async (t) => {
  const cluster = await startCluster({ nodes: 0 });
  t.teardown(() => cluster.close());
  const client = cluster.clientAs('unknown');
  await t.rejects(
    client.resource(pods).list({ namespace: 'default' }),
    /pods is forbidden: User "unknown" cannot list/,
  );
  t.throws(() => cluster.kubeconfig(), /listen: true/);
});

t.test('the server certificate is valid for the name of the API Service', async (t) => {
  const cluster = await startCluster({ nodes: 0, listen: true });
  t.teardown(() => cluster.close());
  const file = join(t.testdir(), 'client.config');
  await writeFile(file, cluster.kubeconfig());
  const target = await loadKubeconfig(file, { clock: realClock, env: {} });
  const list = async (serverName: string) => {
    const client = connect({ ...target, serverName }, { dialect: cluster.dialect, clock: realClock });
    t.teardown(() => client.close());
    return client.resource(namespaces).list();
  };
  t.ok((await list('orch.default.svc')).items.length > 0);
  await t.rejects(list('another.example'), /does not match certificate/);
});

t.test('the proxy of each node reaches the agent of that node', async (t) => {
  const cluster = await startCluster({ nodes: 2, listen: true });
  t.teardown(() => cluster.close());
  const { clusters, users } = parse(cluster.kubeconfig()) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const data = (entry: Record<string, string> | undefined, name: string) =>
    Buffer.from(entry?.[`${name}-data`] ?? '', 'base64');
  const tls = {
    ca: data(clusters[0]?.cluster, 'certificate-authority'),
    cert: data(users[0]?.user, 'client-certificate'),
    key: data(users[0]?.user, 'client-key'),
  };
  const read = async (path: string) => {
    const call = request(new URL(path, clusters[0]?.cluster['server']), { ...tls, agent: false });
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    return text(response);
  };
  for (const node of ['node-0', 'node-1']) {
    t.match(await read(`/api/v1/nodes/${node}/proxy/metrics`), `\nnodeagent_node_name{node="${node}"} 1\n`);
    t.match(await read(`/api/v1/nodes/${node}/proxy/metrics/resource`), '\nnode_memory_working_set_bytes ');
    t.match(await read(`/api/v1/nodes/${node}/proxy/configz`), '"nodeagentconfig":{');
    t.match(await read(`/api/v1/nodes/${node}/proxy/debug/pprof/cmdline`), `--hostname-override=${node}`);
    t.match(await read(`/api/v1/nodes/${node}/proxy/debug/flags/v`), 'unrecognized http method');
  }
});

t.test('the scheduler uses its configuration file and extenders, and all daemons get the feature gates', async (t) => {
  const folder = t.testdir();
  let consulted = 0;
  const extender = createServer((question, answer) => {
    text(question).then((body) => {
      consulted++;
      answer.end(JSON.stringify({ NodeNames: (JSON.parse(body) as { NodeNames: string[] }).NodeNames }));
    }, answer.destroy);
  });
  extender.listen(0, '127.0.0.1');
  await once(extender, 'listening');
  const { port } = extender.address() as AddressInfo;
  const schedulerConfig = join(folder, 'scheduler.yaml');
  const head = 'apiVersion: scheduler.config.orch.io/v1beta3\nkind: OrchSchedulerConfiguration\n';
  const extenders = [{ urlPrefix: `http://127.0.0.1:${port}`, filterVerb: 'filter', nodeCacheCapable: true }];
  const profiles = [{ schedulerName: 'default-scheduler' }, { schedulerName: 'second' }];
  await writeFile(
    schedulerConfig,
    `${head}extenders: ${JSON.stringify(extenders)}\nprofiles: ${JSON.stringify(profiles)}\n`,
  );
  const cluster = await startCluster({ schedulerConfig, featureGates: { ReadWriteOncePod: true } });
  t.teardown(async () => {
    await cluster.close();
    extender.close();
    extender.closeAllConnections();
  });
  const namespace = 'default';
  const metadata = (name: string) => ({ name, namespace });
  const spec = { schedulerName: 'second', containers: [{ name: 'c', image: 'web:1' }] };
  const claimSpec = { accessModes: ['ReadWriteOncePod' as const], resources: { requests: { storage: '1Gi' } } };
  const claim = await cluster.client
    .resource(persistentvolumeclaims)
    .create({ metadata: metadata('one'), spec: claimSpec });
  t.same(claim.spec.accessModes, ['ReadWriteOncePod'], 'the API server has the gate');
  await cluster.client.resource(pods).create({ metadata: metadata('runs'), spec });
  const options = { namespace, fieldSelector: 'metadata.name=runs', signal: AbortSignal.timeout(30_000) };
  for await (const { object } of cluster.client.resource(pods).watch(options)) {
    if (object.status?.phase === 'Running') break;
  }
  t.ok(consulted > 0, 'the extender was called');
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'gone' } }];
  await cluster.client.resource(pods).create({ metadata: metadata('waits'), spec: { ...spec, volumes } });
  const explanation = await cluster.client.request('GET', '/debug/scheduler/explain?pod=default/waits');
  t.match(explanation, { refused: [{ plugin: 'VolumeRestrictions' }] }, 'the scheduler has the gate');
});

t.test('a configuration that the scheduler refuses fails the start', async (t) => {
  const schedulerConfig = join(t.testdir({ bad: 'kind: Nothing\n' }), 'bad');
  await t.rejects(startCluster({ nodes: 0, schedulerConfig }), /apiVersion and kind must be/);
  await t.rejects(startCluster({ nodes: 0, featureGates: { Nonsense: true } }), /Nonsense/);
});
