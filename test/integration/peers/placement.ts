/** The behaviour of a release's scheduler in the API, independent of the implementation. */
import type { Test } from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { events, namespaces, nodes, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Node, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import type { Client } from '#client/client.js';
import { until } from '#test/integration/controllers/cluster.js';

const namespace = 'shop';
const where = { namespace };
const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const hostname = 'kubernetes.io/hostname';
const zone = 'topology.kubernetes.io/zone';
const bound = (pod: Pod) => (pod.spec.nodeName ?? '') !== '';
const requests = (cpu: string) => ({ containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] });
const why = (pod: Pod) => pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');

/** Runs all checks. `client` has all rights; no controller or node agent runs. */
export async function schedulerWorks(t: Test, client: Client): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  await client.resource(serviceaccounts).create({ metadata: { name: 'default', namespace } });
  for (const [name, inZone] of Object.entries({ a1: 'a', a2: 'a', b1: 'b', b2: 'b' })) {
    await createNode(client, name, { [zone]: inZone, [hostname]: name });
  }
  const taints = [{ key: 'only', value: 'tests', effect: 'NoSchedule' }];
  await createNode(client, 'special', { [hostname]: 'special', disk: 'fast' }, taints);

  const create = (name: string, spec: Partial<PodSpec>, labels: Record<string, string> = {}) =>
    client.resource(pods).create({
      metadata: { name, namespace, labels },
      spec: { terminationGracePeriodSeconds: 0, ...requests('100m'), ...spec },
    });
  const get = (name: string) => client.resource(pods).get(name, where);
  const placed = async (name: string) =>
    (await until(`${name} is bound`, () => get(name), bound)).spec.nodeName as string;

  await create('chosen', { nodeSelector: { disk: 'fast' }, tolerations: [{ key: 'only', operator: 'Exists' }] });
  t.equal(await placed('chosen'), 'special');

  const apart = { topologyKey: hostname, labelSelector: { matchLabels: { app: 'apart' } } };
  const alone = { affinity: { podAntiAffinity: { [required]: [apart] } } };
  const copies = ['apart-1', 'apart-2', 'apart-3', 'apart-4'];
  await Promise.all(copies.map((name) => create(name, alone, { app: 'apart' })));
  t.same((await Promise.all(copies.map(placed))).sort(), ['a1', 'a2', 'b1', 'b2']);

  const evenly = { topologyKey: zone, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' };
  const spread = { topologySpreadConstraints: [{ ...evenly, labelSelector: { matchLabels: { app: 'even' } } }] };
  const even = ['even-1', 'even-2', 'even-3', 'even-4'];
  await Promise.all(even.map((name) => create(name, spread, { app: 'even' })));
  t.same((await Promise.all(even.map(placed))).map((name) => name[0]).sort(), ['a', 'a', 'b', 'b']);

  await create('hopeless', requests('100'));
  const waiting = await until(
    'the status has the reason',
    () => get('hopeless'),
    (pod) => why(pod)?.status === 'False',
  );
  t.match(why(waiting), { reason: 'Unschedulable', message: /^0\/5 nodes are available: .*4 Insufficient cpu/ });
  await until(
    'an event has the reason',
    () => client.resource(events).list(where),
    ({ items }) =>
      items.some(({ involvedObject, reason }) => reason === 'FailedScheduling' && involvedObject.name === 'hopeless'),
  );

  await client.resource(priorityclasses).create({ metadata: { name: 'urgent' }, value: 1000 });
  const fillers = ['filler-1', 'filler-2', 'filler-3', 'filler-4'];
  await Promise.all(fillers.map((name) => create(name, requests('7'))));
  await Promise.all(fillers.map(placed));
  await create('urgent', { ...requests('7'), priorityClassName: 'urgent' });
  await placed('urgent');
  const left = (await client.resource(pods).list(where)).items.filter(({ metadata }) =>
    fillers.includes(metadata.name ?? ''),
  );
  t.equal(left.length, 3, 'one pod was preempted');

  const { items } = await client.resource(leases).list({ namespace: 'kube-system' });
  t.ok(items.some(({ metadata }) => metadata.name === 'kube-scheduler'));
}

async function createNode(
  client: Client,
  name: string,
  labels: Record<string, string>,
  taints: NonNullable<Node['spec']['taints']> = [],
): Promise<void> {
  await client.resource(nodes).create({ metadata: { name, labels }, spec: {} });
  const room = { cpu: '8', memory: '8Gi', pods: '110' };
  const status = { allocatable: room, capacity: room, conditions: [{ type: 'Ready', status: 'True' }] };
  await client.resource(nodes).patch(name, { status }, { type: 'merge', subresource: 'status' });
  // Without the taint that every new node has until a controller removes it.
  await client.resource(nodes).patch(name, { spec: { taints } }, { type: 'merge' });
}
