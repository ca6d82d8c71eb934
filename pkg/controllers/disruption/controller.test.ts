import t, { type Test } from 'tap';
import { deployments, replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { pods, replicationcontrollers } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { disrupted } from '#api/policy/v1/poddisruptionbudget/disruption.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from '#api/policy/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { notFound } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import { DisruptionController } from '#controllers/disruption/controller.js';
import { controllerReference } from '#controllers/framework/owners.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { makeReady } from '#controllers/framework/testing/pods.js';

const labels = { app: 'web' };

function setUp(t: Test, spec: Partial<PodDisruptionBudgetSpec>) {
  const types = [deployments, replicasets, statefulsets, replicationcontrollers, pods, poddisruptionbudgets];
  const harness = new Harness(t, types);
  const { api, clock, dialect } = harness;
  api.seed<PodDisruptionBudget>(poddisruptionbudgets, {
    metadata: { name: 'b', namespace: 'default' },
    spec: { selector: { matchLabels: labels }, ...spec },
  });
  const owner = <T extends ApiObject>(type: ResourceType<T>, object: T) => {
    const seeded = api.seed(type, object);
    return controllerReference(dialect, type as ResourceDeclaration, seeded as T);
  };
  const addPod = (name: string, reference?: ReturnType<typeof owner>) => {
    const ownerReferences = reference === undefined ? {} : { ownerReferences: [reference] };
    const metadata = { name, namespace: 'default', labels, ...ownerReferences };
    const pod = api.seed<Pod>(pods, { metadata, spec: { containers: [] } });
    makeReady(harness, pod);
    return pod;
  };
  const start = () => harness.start(new DisruptionController(harness.context));
  const status = () => api.get(poddisruptionbudgets, 'default/b')?.status;
  /** Grants an eviction as the API server does. */
  const evict = (pod: Draft<Pod>) =>
    api.change<PodDisruptionBudget>(poddisruptionbudgets, 'default/b', (object) => {
      Object.assign(object, { status: disrupted(object, pod, clock.now()).status });
    });
  return { harness, api, owner, addPod, start, status, evict };
}

const template = { metadata: { labels } };
const meta = (name: string) => ({ name, namespace: 'default' });

t.test('the scale of every cached kind of manager', async (t) => {
  const { harness, owner, addPod, start, status } = setUp(t, { maxUnavailable: 1 });
  const deployment = owner(deployments, { metadata: meta('d'), spec: { replicas: 4, selector: {}, template } });
  const spec = { replicas: 1, selector: {}, template };
  // During a rollout, the deployment counts instead of its sets.
  const [old, next] = ['d-1', 'd-2'].map((name) =>
    owner(replicasets, { metadata: { ...meta(name), ownerReferences: [deployment] }, spec }),
  );
  addPod('d-1', old);
  addPod('d-2', next);
  addPod('r', owner(replicasets, { metadata: meta('r'), spec: { ...spec, replicas: 3 } }));
  addPod(
    's',
    owner(statefulsets, { metadata: meta('s'), spec: { replicas: 2, selector: {}, serviceName: 's', template } }),
  );
  addPod(
    'c',
    owner(replicationcontrollers, { metadata: meta('c'), spec: { replicas: 1, selector: labels, template } }),
  );
  addPod('alone');
  await start();
  t.match(status(), { expectedPods: 10, desiredHealthy: 9, currentHealthy: 6, disruptionsAllowed: 0 });
  // As in release 1.24, the pod without a controller causes no event.
  t.same(harness.events, []);
});

t.test('a missing manager makes the budget allow nothing', async (t) => {
  const { harness, api, owner, addPod, start, status } = setUp(t, { maxUnavailable: 1 });
  const reference = owner(replicasets, { metadata: meta('r'), spec: { replicas: 1, selector: {}, template } });
  addPod('a', { ...reference, uid: 'another' });
  await start();
  t.match(status(), { disruptionsAllowed: 0, conditions: [{ status: 'False', reason: 'SyncFailed' }] });
  t.match(harness.events[0], /^Warning CalculateExpectedPodCountFailed b: Failed to calculate the number of expected/);
  api.change<Pod>(pods, 'default/a', (pod) => {
    pod.metadata.ownerReferences = [reference];
  });
  await harness.advance(60_000);
  t.match(status(), { disruptionsAllowed: 1, conditions: [{ status: 'True', reason: 'SufficientPods' }] });
});

t.test('granted evictions are awaited until they time out', async (t) => {
  const { harness, api, addPod, start, status, evict } = setUp(t, { minAvailable: 1 });
  const [first, second] = ['a', 'b', 'c'].map((name) => addPod(name));
  if (first === undefined || second === undefined) throw new TypeError('no pods');
  await start();
  t.match(status(), { disruptionsAllowed: 2 });
  evict(first);
  evict(second);
  await harness.settled();
  t.match(status(), { disruptionsAllowed: 0, currentHealthy: 1, disruptedPods: { a: /./, b: /./ } });
  api.remove(pods, 'default/a');
  await harness.settled();
  t.same(Object.keys(status()?.disruptedPods ?? {}), ['b']);
  t.match(status(), { disruptionsAllowed: 0 });
  await harness.advance(121_000);
  t.match(status(), { disruptionsAllowed: 1, currentHealthy: 2 });
  t.same(status()?.disruptedPods ?? {}, {});
  t.ok(harness.events.includes("Warning NotDeleted b: Pod was expected by PDB default/b to be deleted but it wasn't"));
});

t.test('a budget without pods records an event', async (t) => {
  const { harness, api, addPod, start, status } = setUp(t, { minAvailable: 1 });
  await start();
  t.equal(harness.events[0], 'Normal NoPods b: No matching pods found');
  t.match(status(), { disruptionsAllowed: 0, expectedPods: 0, desiredHealthy: 1 });
  addPod('a');
  await harness.settled();
  t.match(status(), { expectedPods: 1, currentHealthy: 1 });
  api.change<Pod>(pods, 'default/a', (pod) => {
    pod.metadata.labels = { app: 'other' };
  });
  await harness.settled();
  t.match(status(), { expectedPods: 0, currentHealthy: 0 });
});

t.test('managers of other kinds are read through their scale', async (t) => {
  const { harness, addPod, status } = setUp(t, { minAvailable: '50%' });
  const requests: string[] = [];
  const scales = '/apis/test.io/v1/namespaces/default/flocks/f/scale';
  const request = async (_method: string, path: string) => {
    requests.push(path);
    if (path === scales) return { metadata: { uid: 'flock' }, spec: { replicas: 5 } };
    if (path !== '/apis/test.io/v1') throw notFound({ group: '', resource: path }, path);
    const resource = (name: string, kind: string) => ({ name, kind, singularName: '', namespaced: true, verbs: [] });
    return {
      groupVersion: 'test.io/v1',
      resources: [resource('flocks', 'Flock'), resource('flocks/scale', 'Scale'), resource('herds', 'Herd')],
    };
  };
  const { client } = harness.context;
  const scaling: Client = {
    dialect: client.dialect,
    resource: (type) => client.resource(type),
    request: async <R>(method: string, path: string) => (await request(method, path)) as R,
    close: () => client.close(),
  };
  const manager = { apiVersion: 'test.io/v1', kind: 'Flock', name: 'f', uid: 'flock', controller: true };
  addPod('a', manager);
  addPod('b', manager);
  await harness.start(new DisruptionController({ ...harness.context, client: scaling }));
  t.match(status(), { expectedPods: 5, desiredHealthy: 3, currentHealthy: 2, disruptionsAllowed: 0 });
  addPod('c', manager);
  addPod('d', manager);
  await harness.settled();
  t.match(status(), { currentHealthy: 4, disruptionsAllowed: 1 });
  t.equal(requests.filter((path) => path === '/apis/test.io/v1').length, 1, 'discovery is cached');
  addPod('e', { ...manager, kind: 'Herd', uid: 'herd' });
  await harness.settled();
  const message = 'herds.test.io does not implement the scale subresource';
  t.match(status(), { disruptionsAllowed: 0, conditions: [{ status: 'False', reason: 'SyncFailed', message }] });
});
