/**
 * The trace of an object through all daemons, which all have `--tracing-config-file`: from the request that creates it to
 * its containers.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { startEtcd } from '#test/etcd.js';
import { until } from '#test/integration/daemons/api.js';
import { type CollectedSpan, startCollector } from '#test/integration/tracing/collector.js';

t.setTimeout(60_000);

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const namespace = 'default';
const pathOf = (resource: string) => `/api/v1/namespaces/${namespace}/${resource}`;

const noEtcd = existsSync('/usr/bin/etcd') ? false : 'there is no etcd';

t.test('from a deployment to its containers', { skip: noEtcd }, async (t) => {
  const [etcd, collector, folder] = await Promise.all([
    startEtcd(),
    startCollector(),
    mkdtemp(join(tmpdir(), 'whole-way-')),
  ]);
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const [version] = dialect.tracingConfigVersions;
  const config = `{apiVersion: ${version}, kind: TracingConfiguration, endpoint: '${collector.endpoint}', samplingRatePerMillion: 1000000}`;
  const cluster = await startCluster({
    etcd: [etcd.endpoint],
    listen: true,
    tracingConfig: await file('tracing.yaml', config),
  });
  t.teardown(async () => {
    await cluster.close();
    await etcd.stop();
    collector.close();
    await rm(folder, { recursive: true });
  });
  const target = await loadKubeconfig(await file('kubeconfig', cluster.kubeconfig()), { clock, env: {} });
  const headers = { traceparent: `00-${traceId}-${parentId}-01` };
  const client = connect({ ...target, headers }, { dialect, clock });
  t.teardown(() => client.close());

  const labels = { app: 'web' };
  const created = await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'web:1' }] } },
    },
  });

  const spans = () => collector.spans;
  const parentOf = (child: CollectedSpan) => spans().find(({ spanId }) => spanId === child.parentId);
  /** The ancestors of the span, the root of the trace last. */
  const above = (span: CollectedSpan): CollectedSpan[] => {
    const parent = parentOf(span);
    return parent === undefined ? [] : [parent, ...above(parent)];
  };
  const names = (spans: readonly CollectedSpan[]) => spans.map(({ name }) => name);
  const spansWith = (what: Partial<CollectedSpan>, attributes: CollectedSpan['attributes'] = {}) =>
    spans().filter(
      (span) =>
        Object.entries(what).every(([key, value]) => span[key as keyof CollectedSpan] === value) &&
        Object.entries(attributes).every(([key, value]) => span.attributes[key] === value),
    );
  /** The first request to the target below a work span of that name. */
  const requestOf = (work: string, target: RegExp) => {
    const requests = spansWith({ service: 'orch-apiserver', kind: 2 }).filter(
      (span) => target.test(String(span.attributes['http.target'])) && above(span).some(({ name }) => name === work),
    );
    return requests[0];
  };
  await until('all daemons have sent what they did', async () => {
    const required = [
      requestOf('Reconcile deployment', /\/replicasets$/),
      requestOf('Reconcile replicaset', /\/pods$/),
      requestOf('Schedule pod', /\/binding$/),
      spansWith({ name: 'Report pod status' }, { phase: 'Running' })[0],
      // The agent sends its earlier spans before or with this one.
      requestOf('Report pod status', /\/status$/),
    ];
    return required.every((span) => span !== undefined);
  });

  await t.test('the request', async (t) => {
    const [request, ...others] = spansWith({ service: 'orch-apiserver', traceId, parentId });
    t.same(others, []);
    t.match(request?.attributes, {
      'object.resource': 'deployments.apps',
      'object.namespace': namespace,
      'object.name': 'web',
      'object.uid': created.metadata.uid,
      'object.resourceVersion': created.metadata.resourceVersion,
    });
    t.ok(
      spansWith({ name: 'etcdserverpb.KV/Txn' }).some((span) => parentOf(span) === request),
      'asks etcd',
    );
  });

  const uidOf = (span: CollectedSpan | undefined) => String(span?.attributes['object.uid']);

  await t.test('the controllers', async (t) => {
    const [first] = spansWith({ name: 'Reconcile deployment' }, { key: 'default/web' });
    t.match(first, { service: 'orch-controller-manager', parentId: '', failed: false });
    t.match(first?.attributes, { controller: 'deployment', 'object.name': 'web', requeues: 0 });
    const set = requestOf('Reconcile deployment', /\/replicasets$/);
    t.same(set && names(above(set)), ['HTTP POST', 'Reconcile deployment']);
    t.match(set?.attributes, { 'object.resource': 'replicasets.apps', 'http.status_code': 201 });
  });

  const pod = requestOf('Reconcile replicaset', /\/pods$/);
  const uid = uidOf(pod);
  await t.test('the pod is made', async (t) => {
    t.match(uid, /-/);
    t.match(pod?.attributes, { 'http.target': pathOf('pods'), 'object.resource': 'pods' });
    t.same(pod && names(above(pod)), ['HTTP POST', 'Reconcile replicaset']);
  });

  await t.test('the scheduler', async (t) => {
    const [attempt, ...others] = spansWith({ name: 'Schedule pod' }, { 'object.uid': uid });
    t.same(others, []);
    t.match(attempt, { service: 'orch-scheduler', parentId: '', failed: false });
    t.match(attempt?.attributes, { result: 'scheduled', node: 'node-0', 'scheduler.attempts': 1 });
    const steps = names(spans().filter((span) => parentOf(span) === attempt));
    for (const step of ['PreFilter', 'Filter', 'Reserve', 'Permit', 'Bind', 'PostBind'])
      t.ok(steps.includes(step), step);
    const binding = requestOf('Schedule pod', /\/binding$/);
    t.same(binding && names(above(binding)), ['HTTP POST', 'Schedule pod']);
    t.equal(uidOf(binding), uid);
    t.ok(
      spansWith({ name: 'etcdserverpb.KV/Txn' }).some((span) => parentOf(span) === binding),
      'is written to etcd',
    );
  });

  await t.test('the node agent and its runtime', async (t) => {
    const syncs = spansWith({ name: 'Sync pod' }, { 'object.uid': uid });
    t.match(syncs[0], { service: dialect.components.nodeAgent, parentId: '', failed: false });
    t.match(syncs[0]?.attributes, { operation: 'create', node: 'node-0' });
    const calls = ['PullImage', 'RunPodSandbox', 'CreateContainer', 'StartContainer'].map((method) => {
      const service = `runtime.v1.${method === 'PullImage' ? 'Image' : 'Runtime'}Service`;
      return spansWith({ name: `${service}/${method}`, kind: 3 }).find((span) =>
        above(span).some((one) => syncs.includes(one)),
      );
    });
    t.same(
      calls.map((call) => call && names(above(call))),
      [
        ['startContainer', 'Sync pod'],
        ['createSandbox', 'Sync pod'],
        ['startContainer', 'Sync pod'],
        ['startContainer', 'Sync pod'],
      ],
    );
    const report = spansWith({ name: 'Report pod status' }, { 'object.uid': uid, phase: 'Running' });
    t.ok(report.length > 0, 'it is told');
  });

  await t.test('one query finds all that was done with the pod', async (t) => {
    const services = new Set(spansWith({}, { 'object.uid': uid }).map(({ service }) => service));
    t.same([...services].sort(), [dialect.components.nodeAgent, 'orch-apiserver', 'orch-scheduler']);
  });

  await t.test('requests that are passed on', async (t) => {
    await client.request('GET', '/api/v1/nodes/node-0/proxy/configz');
    const passed = () => spansWith({ name: 'HTTP GET', service: 'orch-apiserver', kind: 3, traceId });
    await until('the span is there', async () => passed().length > 0);
    const [span] = passed();
    t.match(span?.attributes, { 'http.url': /^https:\/\/127\.0\.0\.1:\d+\/configz$/, 'http.status_code': 200 });
    t.match(span && parentOf(span), { name: 'OrchAPI', parentId });
  });

  await t.test('events are part of no trace', async (t) => {
    const events = spansWith({ service: 'orch-apiserver', kind: 2 }, { 'http.target': pathOf('events') });
    t.ok(events.length > 0);
    for (const event of events) t.equal(event.parentId, '');
  });
});
