/** Simulated pods in a whole cluster, whose clock is moved by hand: what users of `docs/testing.md` see. */
import t, { type Test } from 'tap';
import { deployments, statefulsets } from '#api/apps/v1/resources.gen.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import { jobs } from '#api/batch/v1/resources.gen.js';
import { endpoints, events, namespaces, persistentvolumeclaims, pods, services } from '#api/core/v1/resources.gen.js';
import type { Container, PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

// It begins now: at a time of another year, nodes refuse to provision volumes.
const clock = new ManualClock({ startMs: realClock.now(), process: realClock });
const started = await startTestCluster({
  ...{ nodes: 2, port: 0, clock, dialect: 'orch' },
  podRules: "rules: [{match: {namespace: ruled}, behaviour: {exit-code: '1,1,0'}}]",
});
t.teardown(() => started.close());
const { client } = started.cluster;
const rest = { settled: true, unfinished: [] };

async function settle(t: Test): Promise<void> {
  t.same(await client.request('POST', '/test/settle', {}), rest, 'at rest');
}

async function advance(duration: string): Promise<void> {
  await client.request('POST', '/test/clock', { advance: duration });
}

async function namespaceOf(t: Test, name: string): Promise<string> {
  await client.resource(namespaces).create({ metadata: { name }, spec: {} });
  await settle(t);
  return name;
}

const main: Container = { name: 'main', image: 'example.com/app:1' };
const labels = { app: 'web' };

function template(settings: Record<string, string>, container: Container = main): PodTemplateSpec {
  const annotations = Object.fromEntries(Object.entries(settings).map(([name, text]) => [`sim.orch.io/${name}`, text]));
  return { metadata: { annotations, labels }, spec: { containers: [container] } };
}

t.test('Jobs finish, Deployments become available, StatefulSets have claims and Services endpoints', async (t) => {
  const namespace = await namespaceOf(t, 'all');
  const spec = { selector: { matchLabels: labels }, template: template({}) };
  const job = { ...template({}), spec: { containers: [main], restartPolicy: 'Never' } };
  await client.resource(jobs).create({ metadata: { name: 'once', namespace }, spec: { template: job } });
  await client.resource(deployments).create({ metadata: { name: 'web', namespace }, spec: { ...spec, replicas: 3 } });
  await client.resource(services).create({
    metadata: { name: 'web', namespace },
    spec: { selector: labels, ports: [{ port: 80 }] },
  });
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const dbLabels = { app: 'db' };
  await client.resource(statefulsets).create({
    metadata: { name: 'db', namespace },
    spec: {
      ...{ serviceName: 'db', replicas: 2, selector: { matchLabels: dbLabels }, volumeClaimTemplates: [claim] },
      template: { metadata: { labels: dbLabels }, spec: { containers: [main] } },
    },
  });
  await settle(t);
  // A pod whose claim is not bound yet is tried again after a pause.
  await advance('10s');
  t.match(await client.resource(jobs).get('once', { namespace }), { status: { succeeded: 1 } });
  t.match(await client.resource(deployments).get('web', { namespace }), { status: { availableReplicas: 3 } });
  t.match(await client.resource(statefulsets).get('db', { namespace }), { status: { readyReplicas: 2 } });
  const claims = (await client.resource(persistentvolumeclaims).list({ namespace })).items;
  t.same(
    claims.map(({ metadata, status }) => [metadata.name, status?.phase]),
    [
      ['data-db-0', 'Bound'],
      ['data-db-1', 'Bound'],
    ],
  );
  const { subsets } = await client.resource(endpoints).get('web', { namespace });
  t.equal(subsets?.[0]?.addresses?.length, 3);
});

t.test('a Job fails twice and then succeeds, by the rules at the start', async (t) => {
  const namespace = await namespaceOf(t, 'ruled');
  const job = { ...template({}), spec: { containers: [main], restartPolicy: 'Never' } };
  await client.resource(jobs).create({ metadata: { name: 'third', namespace }, spec: { template: job } });
  await settle(t);
  await advance('1m');
  t.match(await client.resource(jobs).get('third', { namespace }), { status: { succeeded: 1, failed: 2 } });
});

t.test('rules are replaced while the cluster runs, and wrong ones are refused', async (t) => {
  const rules = [{ match: { namespace: 'later' }, behaviour: { 'exit-code': 3 } }];
  t.same(await client.request('POST', '/test/pods', { rules }), { rules });
  t.same(await client.request('GET', '/test/pods'), { rules });
  const wrong = { rules: [{ behaviour: { 'exit-code': 300 } }] };
  const message = /rules\[0\]\.behaviour\.exit-code: "300" is not a whole number from 0 to 255/;
  await t.rejects(client.request('POST', '/test/pods', wrong), message);
  const namespace = await namespaceOf(t, 'later');
  const spec = { containers: [main], restartPolicy: 'Never' };
  await client.resource(pods).create({ metadata: { name: 'p', namespace }, spec });
  await settle(t);
  t.match(await client.resource(pods).get('p', { namespace }), {
    status: { phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode: 3 } } }] },
  });
  t.same(await client.request('DELETE', '/test/pods'), { rules: [] });
});

t.test('an autoscaler follows the use of CPU', async (t) => {
  const namespace = await namespaceOf(t, 'scaled');
  const container = { ...main, resources: { requests: { cpu: '100m' } } };
  // 400m for all pods together: four pods at 100% of their request.
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: labels } },
      template: template({ 'cpu-shared': '0s=400m, 3m=400m, 3m=100m' }, container),
    },
  });
  const target = { type: 'Utilization', averageUtilization: 100 } as const;
  await client.resource(horizontalpodautoscalers).create({
    metadata: { name: 'web', namespace },
    spec: {
      ...{ maxReplicas: 10, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
      behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
    },
  });
  const replicas = async () => (await client.resource(deployments).get('web', { namespace })).spec?.replicas;
  await advance('2m');
  t.equal(await replicas(), 4, 'as many as the load needs');
  await advance('3m');
  t.equal(await replicas(), 1, 'fewer when the load has gone');
});

t.test('a wrong setting is an event of the pod', async (t) => {
  const namespace = await namespaceOf(t, 'wrong');
  const { metadata, spec } = template({ 'exit-after': 'soon' });
  await client
    .resource(pods)
    .create({ metadata: { ...metadata, name: 'p', namespace }, spec: spec ?? { containers: [] } });
  await settle(t);
  const { items } = await client.resource(events).list({ namespace });
  t.same(
    items.filter(({ reason }) => reason === 'InvalidSimulation').map(({ message }) => message),
    ['annotation sim.orch.io/exit-after: "soon" is not a duration such as 1.5s, 200ms or 2m'],
  );
});

t.test('containers and pods are ended on demand, and repeat with the seed', async (t) => {
  const namespace = await namespaceOf(t, 'killed');
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: { replicas: 4, selector: { matchLabels: labels }, template: template({}) },
  });
  await settle(t);
  const chosen = { namespace, labelSelector: 'app=web', count: 2, seed: 7 };
  const act = (body: object) => client.request<{ pods: string[] }>('POST', '/test/actions', body);
  const killed = await act({ action: 'kill-containers', ...chosen });
  t.equal(killed.pods.length, 2);
  t.same(
    await act({ action: 'kill-containers', ...chosen, container: 'none' }),
    killed,
    'the same pods by the same seed',
  );
  await settle(t);
  const all = (await client.resource(pods).list({ namespace })).items;
  const ended = all.filter(({ status }) => status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode === 137);
  t.same(ended.map(({ metadata }) => `${namespace}/${metadata.name}`).sort(), [...killed.pods].sort());
  await act({ action: 'delete-pods', ...chosen });
  await settle(t);
  const left = (await client.resource(pods).list({ namespace })).items.map(({ metadata }) => metadata.name);
  t.equal(left.length, 4);
  t.notOk(
    killed.pods.some((pod) => left.includes(pod.split('/')[1])),
    'they were replaced',
  );
});
