import t from 'tap';
import type { Node, Pod, Volume } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { type Budget, noObjects } from '#scheduler/cluster/objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { explain } from '#scheduler/explain/explain.js';
import type { Explanation } from '#scheduler/explain/explanation.js';
import { copiesOf, leaving, without } from '#scheduler/explain/forecast.js';
import { ClusterCopy, Pace, type Snapshot } from '#scheduler/explain/snapshot.js';
import { defaultProfile, profileOf } from '#scheduler/plugins/profiles.js';
import { defaultContext } from '#scheduler/plugins/registry.js';
import { boundClaim, claimVolumes, storageOf, volume } from '#scheduler/testing/storage.js';

const profile = defaultProfile(dialect);

const node = (name: string, more: { cpu?: string; pods?: string; spec?: Node['spec'] } = {}): Node => ({
  metadata: { name, labels: { [dialect.labels.hostname]: name } },
  spec: more.spec ?? {},
  status: { allocatable: { cpu: more.cpu ?? '4', memory: '8Gi', pods: more.pods ?? '10' } },
});

interface PodFields {
  cpu?: string;
  on?: string;
  priority?: number;
  labels?: Record<string, string>;
  metadata?: Partial<Pod['metadata']>;
}

const pod = (name: string, { cpu = '1', labels = {}, metadata = {}, on, priority = 0 }: PodFields = {}): Pod => ({
  metadata: { name, namespace: 'default', uid: name, labels, ...metadata },
  spec: {
    schedulerName: profile.schedulerName,
    priority,
    containers: [{ name: 'main', image: 'web', resources: { requests: { cpu } } }],
    ...(on === undefined ? {} : { nodeName: on }),
  },
});

function snapshotOf(nodes: readonly Node[], pods: readonly Pod[] = [], budgets: readonly Budget[] = []): Snapshot {
  return {
    nodes,
    placed: pods.map((each) => ({ pod: podInfo(each), node: each.spec.nodeName ?? '' })),
    nominated: [],
    objects: { ...noObjects, budgets: () => budgets },
  };
}

const copyOf = (snapshot: Snapshot) => ClusterCopy.of(snapshot, dialect, new Pace(realClock));

async function why(snapshot: Snapshot, subject: Pod, more: object = {}): Promise<Explanation> {
  return explain(subject, { copy: await copyOf(snapshot), dialect, profiles: [profile], scores: 5, ...more });
}

t.test('explains each node with plugin, numbers and the messages of release 1.24', async (t) => {
  const taints = [{ key: 'own', value: 'team', effect: 'NoSchedule' }];
  const nodes = [node('a'), node('b', { spec: { taints } }), node('c', { spec: { taints } })];
  const explanation = await why(snapshotOf(nodes, [pod('other', { cpu: '3', on: 'a' })]), pod('p', { cpu: '2' }), {
    details: { limit: 2 },
  });
  t.equal(
    explanation.message,
    '0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {own: team}. ' +
      'preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.',
  );
  t.same(
    explanation.refused.map(({ examples, nodes, plugin }) => [plugin, nodes, examples]),
    [
      ['TaintToleration', 2, ['b', 'c']],
      ['NodeResourcesFit', 1, ['a']],
    ],
  );
  t.same(explanation.refused[1]?.shortages, [{ resource: 'cpu', requested: '2', free: '1', of: '4' }]);
  t.same(
    explanation.details?.items.map((item) => item.node),
    ['a', 'b'],
  );
  t.equal(explanation.details?.continue, 'b');
  t.match(
    explanation.remedies.map(({ text }) => text),
    ['let the pod tolerate the taint own=team:NoSchedule'],
  );
  t.ok(explanation.remedies.every(({ checked }) => checked));
});

t.test('a remedy may need several changes', async (t) => {
  const taints = [{ key: 'own', effect: 'NoSchedule' }];
  const explanation = await why(snapshotOf([node('a', { spec: { taints } })]), pod('p', { cpu: '9' }));
  const [first] = explanation.remedies;
  t.equal(first?.text, 'let the pod tolerate the taint own:NoSchedule; ask for at most 4 cpu instead of 9');
  t.match(first?.changes, [
    { action: 'patch', kind: 'Pod', patch: { spec: { tolerations: [{ key: 'own' }] } } },
    { action: 'replace', object: { spec: { containers: [{ resources: { requests: { cpu: '4' } } }] } } },
  ]);
});

t.test('explains too many pods', async (t) => {
  const explanation = await why(snapshotOf([node('a', { pods: '1' })], [pod('only', { on: 'a' })]), pod('p'));
  t.match(explanation.refused, [
    { reasons: ['Too many pods'], shortages: [{ resource: 'pods', requested: '1', free: '0', of: '1' }] },
  ]);
  t.match(explanation.remedies, [{ changes: [{ action: 'delete', kind: 'Pod', name: 'only' }] }]);
});

t.test('no remedy deletes pods that belong to the node', async (t) => {
  const metadata = {
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }],
  };
  const explanation = await why(snapshotOf([node('a', { pods: '1' })], [pod('only', { on: 'a', metadata })]), pod('p'));
  t.same(explanation.remedies, []);
});

t.test('reports facts about the node', async (t) => {
  const selector = { matchLabels: { app: 'web' } };
  const facts = async (nodes: readonly Node[], pods: readonly Pod[], spec: Partial<Pod['spec']>, labels = {}) => {
    const subject = pod('p', { labels });
    const explanation = await why(snapshotOf(nodes, pods), { ...subject, spec: { ...subject.spec, ...spec } });
    return explanation.refused.map((group) => group.facts);
  };
  const web = { labels: { app: 'web' } };
  const containers = [{ name: 'main', image: 'web', ports: [{ containerPort: 80, hostPort: 80 }] }];
  const onPort = pod('other', { on: 'a' });
  t.same(await facts([node('a')], [], { nodeSelector: { disk: 'ssd' } }), [
    'disk=ssd is required, the node has no such label',
  ]);
  t.same(await facts([node('a')], [{ ...onPort, spec: { ...onPort.spec, containers } }], { containers }), [
    'port 80/TCP is taken by default/other',
  ]);
  const key = dialect.labels.hostname;
  const spread = { maxSkew: 1, topologyKey: key, whenUnsatisfiable: 'DoNotSchedule', labelSelector: selector };
  const nodes = [node('a'), node('b', { spec: { unschedulable: true } })];
  const placed = [pod('w', { on: 'a', ...web })];
  t.same((await facts(nodes, placed, { topologySpreadConstraints: [spread] }, { app: 'web' })).sort(), [
    `${key}=a has 1 such pods, the least of all 0, maxSkew is 1`,
    undefined,
  ]);
  const gates = new FeatureGates({ MinDomainsInPodTopologySpread: true });
  const profiles = [
    profileOf({ schedulerName: profile.schedulerName, sets: {}, args: {} }, dialect, { ...defaultContext, gates }),
  ];
  const wide = pod('p', web);
  const spreadPod = { ...wide, spec: { ...wide.spec, topologySpreadConstraints: [{ ...spread, minDomains: 2 }] } };
  t.match((await why(snapshotOf([node('a')], placed), spreadPod, { profiles })).refused, [
    {
      facts: `${key}=a has 1 such pods, and those of missing domains count as 0: there are 1, minDomains is 2, maxSkew is 1`,
    },
  ]);
  const required = [{ labelSelector: selector, topologyKey: key }];
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  t.same(await facts([node('a')], placed, { affinity }), [
    `default/w is there, which the pod's anti-affinity excludes by ${key}`,
  ]);
});

t.test('reports facts about other nodes', async (t) => {
  const { zone } = dialect.labels;
  const inZone = (name: string, value: string): Node => ({
    ...node(name),
    metadata: { name, labels: { [zone]: value } },
  });
  const nodes = [inZone('a', '1'), inZone('b', '1'), inZone('c', '2')];
  const term = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: zone };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  const web = (name: string, on: string) => pod(name, { on, labels: { app: 'web' } });
  const factsOn = async (name: string, pods: readonly Pod[], affinity: Pod['spec']['affinity'], labels = {}) => {
    const subject = pod('p', { labels });
    const spec = affinity === undefined ? subject.spec : { ...subject.spec, affinity };
    const explanation = await why(snapshotOf(nodes, pods), { ...subject, spec }, { details: { node: name } });
    const [item] = explanation.details?.items ?? [];
    return item !== undefined && 'facts' in item ? item.facts : undefined;
  };
  const far = { podAntiAffinity: required };
  const near = { podAffinity: required };
  t.equal(
    await factsOn('a', [web('w', 'b'), web('v', 'b')], far),
    `default/w on b is in ${zone}=1, too (one of 2), which the pod's anti-affinity excludes by ${zone}`,
  );
  t.equal(
    await factsOn('a', [web('w', 'b'), web('v', 'a')], far),
    `default/v is there (one of 2), which the pod's anti-affinity excludes by ${zone}`,
  );
  const hermit = pod('h', { on: 'b' });
  t.equal(
    await factsOn('a', [{ ...hermit, spec: { ...hermit.spec, affinity: far } }], undefined, { app: 'web' }),
    `default/h on b is in ${zone}=1, too, whose anti-affinity excludes the pod by ${zone}`,
  );
  t.equal(
    await factsOn('c', [web('w', 'a'), web('v', 'b')], near),
    `${zone}=2 has no pod that matches the pod's affinity; ${zone}=1 has 2`,
  );
  t.equal(await factsOn('c', [], near), "no pod in the cluster matches the pod's affinity");
});

t.test('reports facts about volumes', async (t) => {
  const { zone } = dialect.labels;
  const nodes = [{ ...node('a'), metadata: { name: 'a', labels: { [zone]: 'here' } } }];
  const csi = (name: string, labels = {}) => volume(name, { csi: { driver: 'd', volumeHandle: name } }, labels);
  const pinned = {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'pin', operator: 'In', values: ['1', '2'] }] }] },
  };
  const storage = storageOf({
    claims: ['a', 'b', 'c', 'zoned', 'pinned'].map((name) => boundClaim(name)),
    volumes: [
      ...['a', 'b', 'c'].map((name) => csi(name)),
      volume('zoned', {}, { [zone]: 'there' }),
      volume('pinned', { nodeAffinity: pinned }),
    ],
    csiNode: { metadata: { name: 'a' }, spec: { drivers: [{ name: 'd', nodeID: 'a', allocatable: { count: 2 } }] } },
  });
  const facts = async (volumes: readonly Volume[], there: readonly Volume[]) => {
    const other = pod('other', { on: 'a' });
    const snapshot = snapshotOf(nodes, [{ ...other, spec: { ...other.spec, volumes: [...there] } }]);
    const objects = { ...snapshot.objects, storage: { ...snapshot.objects.storage, ...storage } };
    const subject = pod('p');
    const explanation = await why(
      { ...snapshot, objects },
      { ...subject, spec: { ...subject.spec, volumes: [...volumes] } },
    );
    return explanation.refused.map((group) => group.facts);
  };
  t.same(await facts(claimVolumes('b', 'c'), claimVolumes('a')), [
    'd has 1 of at most 2 volumes there, the pod needs 2 more',
  ]);
  const disk: Volume = { name: 'd', awsElasticBlockStore: { volumeID: 'v' } };
  t.same(await facts([disk], [disk]), ['default/other has the disk']);
  t.same(await facts(claimVolumes('zoned'), []), [`volume zoned is where ${zone} is there, the node has ${zone}=here`]);
  t.same(await facts(claimVolumes('pinned'), []), ['volume pinned is where pin is 1 or 2, the node has no such label']);
});

t.test('remedies for a controller’s pod name the pod template', async (t) => {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'o', controller: true };
  const explanation = await why(
    snapshotOf([node('a')]),
    pod('p', { cpu: '9', metadata: { ownerReferences: [owner] } }),
  );
  t.match(
    explanation.remedies[0]?.text,
    'ask for at most 4 cpu instead of 9 (in the pod template of ReplicaSet web-1)',
  );
});

t.test('reports preemption candidates', async (t) => {
  const pods = [
    pod('low', { cpu: '3', on: 'a', labels: { app: 'kept' } }),
    pod('lower', { cpu: '3', on: 'b', priority: -1 }),
  ];
  const budget: Budget = { key: 'default/kept', allowed: 0, covers: ({ labels }) => labels['app'] === 'kept' };
  const explanation = await why(
    snapshotOf([node('a'), node('b')], pods, [budget]),
    pod('p', { cpu: '2', priority: 10 }),
  );
  t.equal(explanation.preemption?.node, 'b');
  t.same(explanation.preemption?.candidates, [
    {
      node: 'a',
      victims: [{ namespace: 'default', name: 'low', priority: 0 }],
      protected: 1,
      budgets: ['default/kept'],
    },
    { node: 'b', victims: [{ namespace: 'default', name: 'lower', priority: -1 }], protected: 0, budgets: [] },
  ]);
});

t.test('every score of a plugin adds up', async (t) => {
  const explanation = await why(snapshotOf([node('a'), node('b', { cpu: '64' })]), pod('p'));
  t.equal(explanation.outcome, 'Fits');
  t.equal(explanation.node, 'b');
  for (const { plugins, total } of explanation.scores) {
    t.equal(
      plugins.reduce((sum, { weighted }) => sum + weighted, 0),
      total,
    );
    t.ok(plugins.every(({ normalized, weight, weighted }) => weighted === normalized * weight));
  }
});

t.test('trials leave the copy unchanged', async (t) => {
  const snapshot = snapshotOf(
    [node('a', { spec: { unschedulable: true } }), node('b')],
    [pod('other', { cpu: '4', on: 'b' })],
  );
  const copy = await copyOf(snapshot);
  const options = { copy, dialect, profiles: [profile], scores: 5 };
  const first = await explain(pod('p'), options);
  t.ok(first.remedies.length > 1);
  t.same(await explain(pod('p'), options), first);
});

t.test('forecasts copies', async (t) => {
  const copy = await copyOf(snapshotOf([node('a'), node('b', { cpu: '2' })]));
  const explanation = await copiesOf(copy, pod('p'), profile, 50);
  t.match(explanation, { requested: 50, fit: 6, message: '0/2 nodes are available: 2 Insufficient cpu.' });
  t.same(explanation.nodes, [
    { node: 'a', copies: 4 },
    { node: 'b', copies: 2 },
  ]);
});

t.test('forecasts a drain', async (t) => {
  const owned = (kind: string) => ({
    ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o', controller: true }],
  });
  const pods = [
    pod('web', { on: 'a', metadata: owned('ReplicaSet') }),
    pod('large', { on: 'a', cpu: '3', metadata: owned('ReplicaSet') }),
    pod('agent', { on: 'a', metadata: owned('DaemonSet') }),
    pod('mirror', { on: 'a', metadata: { annotations: { [dialect.annotations.configMirror]: 'x' } } }),
    pod('bare', { on: 'a' }),
    pod('kept-0', { on: 'a', labels: { app: 'kept' }, metadata: owned('ReplicaSet') }),
    pod('kept-1', { on: 'a', labels: { app: 'kept' }, metadata: owned('ReplicaSet') }),
  ];
  const budget: Budget = { key: 'default/kept', allowed: 1, covers: ({ labels }) => labels['app'] === 'kept' };
  const snapshot = snapshotOf([node('a', { cpu: '16' }), node('b', { cpu: '4' })], pods, [budget]);
  const options = { dialect, profiles: [profile], drain: true };
  const explanation = await leaving(await copyOf(without(snapshot, 'a')), snapshot, 'a', options);
  const outcomes = Object.fromEntries(explanation.moves.map(({ name, outcome }) => [name, outcome]));
  t.same(outcomes, {
    agent: 'Stays',
    bare: 'Lost',
    'kept-0': 'Moves',
    'kept-1': 'Blocked',
    large: 'Moves',
    mirror: 'Stays',
    web: 'NoRoom',
  });
});
