import type { TopologySpreadConstraint } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { type SpreadArgs, systemDefaults } from '#scheduler/plugins/pod-topology-spread/constraints.js';
import { podTopologySpread } from '#scheduler/plugins/pod-topology-spread/plugin.js';
import { answer, answers, node, type PodFields, scores, table } from '#scheduler/testing/plugin-table.js';

const { hostname, zone } = dialect.labels;
const host = (name: string, more: Record<string, string> = {}, spec = {}) =>
  node(name, { [hostname]: name, ...more }, { spec });

/** a and b are in zone 1, c is in zone 2, d has a host name only. */
const nodes = [host('a', { [zone]: '1' }), host('b', { [zone]: '1' }), host('c', { [zone]: '2' }), host('d')];

type More = Partial<TopologySpreadConstraint>;
/** Spreads pods of `web`, by default over zones. */
const spread = (maxSkew: number, topologyKey = zone, more: More = {}): TopologySpreadConstraint => ({
  maxSkew,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: { matchLabels: { app: 'web' } },
  ...more,
});
/** Letters: one `web` pod on each of these nodes. */
const webs = (where: string, more: PodFields = {}): PodFields[] =>
  [...where].map((on) => ({ labels: { app: 'web' }, ...more, on }));
const labels = { app: 'web' };
const plugin = podTopologySpread(dialect);

const skew = (where: string, ...constraints: TopologySpreadConstraint[]) =>
  answers(plugin, { labels, spec: { topologySpreadConstraints: constraints } }, { nodes, pods: webs(where) });

table('constraints, with one pod on each of these nodes', skew, [
  ['no constraints', 'aaa', 'ok ok ok ok'],
  ['no pods yet', '', spread(1), 'ok ok ok no'],
  ['one pod in the first zone', 'a', spread(1), 'no no ok no'],
  ['one pod in the second zone', 'c', spread(1), 'ok ok no no'],
  ['one pod in each zone', 'ac', spread(1), 'ok ok ok no'],
  ['two pods and one pod', 'abc', spread(1), 'no no ok no'],
  ['two pods and no pod, above the skew', 'ab', spread(1), 'no no ok no'],
  ['a skew of two allows one more pod', 'a', spread(2), 'ok ok ok no'],
  ['a skew of two is used up', 'aa', spread(2), 'no no ok no'],
  ['pods on nodes without the label do not count', 'ddd', spread(1), 'ok ok ok no'],
  ['by host', 'a', spread(1, hostname), 'no ok ok ok'],
  ['by host, one pod on each', 'abcd', spread(1, hostname), 'ok ok ok ok'],
  ['by host, one node without a pod', 'abc', spread(1, hostname), 'no no no ok'],
  ['a topology label that no node has', '', spread(1, 'rack'), 'no no no no'],
  ['a soft constraint refuses no node', 'aaa', spread(1, zone, { whenUnsatisfiable: 'ScheduleAnyway' }), 'ok ok ok ok'],
  ['two constraints', 'a', spread(1), spread(1, hostname), 'no no ok no'],
  ['two constraints, stricter by host', 'acc', spread(1), spread(1, hostname), 'no ok no no'],
  ['two constraints: nodes without one of the labels do not count', 'd', spread(1), spread(1, hostname), 'ok ok ok no'],
  ['two constraints with the same key', 'ac', spread(1), spread(2), 'ok ok ok no'],
  [
    'hard and soft constraints',
    'a',
    spread(1),
    spread(1, hostname, { whenUnsatisfiable: 'ScheduleAnyway' }),
    'no no ok no',
  ],
  ['an empty selector matches all pods', 'a', spread(1, zone, { labelSelector: {} }), 'no no ok no'],
  [
    'a selector that does not match the pod itself',
    'a',
    spread(1, zone, { labelSelector: { matchLabels: { app: 'db' } } }),
    'ok ok ok no',
  ],
]);

const others = (pods: readonly PodFields[], more: More, own: PodFields = { labels }) =>
  answers(
    plugin,
    { ...own, spec: { topologySpreadConstraints: [spread(1, zone, more)], ...own.spec } },
    { nodes, pods },
  );
const [free, occupied] = ['ok ok ok no', 'no no ok no'];
table('which pods count', others, [
  ['a pod with the same labels', webs('a'), {}, undefined, occupied],
  ['a pod of another namespace', webs('a', { namespace: 'other' }), {}, undefined, free],
  ['a pod that is being deleted', webs('a', { terminating: true }), {}, undefined, free],
  ['a pod with other labels', webs('a', { labels: { app: 'db' } }), {}, undefined, free],
  ['a pod without labels', webs('a', { labels: {} }), {}, undefined, free],
  ['a pod without labels, an empty selector', webs('a', { labels: {} }), { labelSelector: {} }, undefined, occupied],
  ['an absent selector matches no pods', webs('aaa'), { labelSelector: undefined } as unknown as More, undefined, free],
  ['the selector matches one pod but not the new pod', webs('a'), {}, { labels: {} }, free],
  ['the selector matches two pods but not the new pod', webs('ab'), {}, { labels: {} }, occupied],
  [
    'a selector expression',
    webs('a'),
    { labelSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
    undefined,
    occupied,
  ],
  ['only nodes in the selected zone count', webs('a'), {}, { labels, spec: { nodeSelector: { [zone]: '1' } } }, free],
  ['only the selected node counts', webs('ab'), {}, { labels, spec: { nodeSelector: { [hostname]: 'a' } } }, free],
]);

const cordoned = [
  ...nodes,
  host('e', { [zone]: '3' }, { unschedulable: true, taints: [{ key: 'x', effect: 'NoSchedule' }] }),
];
const withThird = (where: string, maxSkew: number) =>
  answers(
    plugin,
    { labels, spec: { topologySpreadConstraints: [spread(maxSkew)] } },
    { nodes: cordoned, pods: webs(where) },
  );
table('the zone of a cordoned and tainted node counts', withThird, [
  ['one pod in each of the other zones', 'ac', 1, 'no no no no ok'],
  ['a skew of two', 'ac', 2, 'ok ok ok no ok'],
  ['one pod in each zone', 'ace', 1, 'ok ok ok no ok'],
]);

const atLeast: SpreadArgs = { ...systemDefaults(dialect), minDomains: true };
const domains = (where: string, minDomains: number | undefined, args: SpreadArgs) =>
  answers(
    podTopologySpread(dialect, args),
    { labels, spec: { topologySpreadConstraints: [spread(1, zone, minDomains === undefined ? {} : { minDomains })] } },
    { nodes, pods: webs(where) },
  );
table('minDomains', domains, [
  ['as many domains as exist', 'ac', 2, atLeast, free],
  ['fewer domains than exist', 'ac', 1, atLeast, free],
  ['more domains than exist: missing domains count as empty', 'ac', 3, atLeast, 'no no no no'],
  ['more domains than exist, without pods', '', 3, atLeast, free],
  ['more domains than exist, with one pod', 'a', 3, atLeast, occupied],
  ['no minDomains', 'ac', undefined, atLeast, free],
  ['minDomains is ignored without its feature gate', 'ac', 3, systemDefaults(dialect), free],
]);

const refusalAt = (name: string, where: string) =>
  answer(plugin, { labels, spec: { topologySpreadConstraints: [spread(1)] } }, { nodes, pods: webs(where) }, name);
const uneven = "node(s) didn't match pod topology spread constraints";
table('reasons', refusalAt, [
  ['too much skew, which evictions can resolve', 'a', 'a', uneven],
  ['a missing label, which evictions cannot resolve', 'd', '', `!${uneven} (missing required label)`],
]);

const listed = (whenUnsatisfiable: string): SpreadArgs => ({
  defaultConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable }],
  system: false,
  minDomains: false,
});
const byDefault = (args: SpreadArgs, selected: Record<string, string> | undefined, own: TopologySpreadConstraint[]) =>
  answers(
    podTopologySpread(dialect, args),
    { labels, spec: { topologySpreadConstraints: own } },
    { nodes, pods: webs('a'), ...(selected === undefined ? {} : { selected }) },
  );
table('default constraints', byDefault, [
  ['a hard constraint', listed('DoNotSchedule'), labels, [], occupied],
  ['a soft constraint', listed('ScheduleAnyway'), labels, [], 'ok ok ok ok'],
  ['nothing selects the pod', listed('DoNotSchedule'), undefined, [], 'ok ok ok ok'],
  ['the selector does not match the other pods', listed('DoNotSchedule'), { app: 'db' }, [], free],
  ['constraints of the pod replace the defaults', listed('DoNotSchedule'), labels, [spread(5)], free],
  [
    'a soft constraint of the pod replaces the defaults',
    listed('DoNotSchedule'),
    labels,
    [spread(1, zone, { whenUnsatisfiable: 'ScheduleAnyway' })],
    'ok ok ok ok',
  ],
  ['the system defaults refuse no node', systemDefaults(dialect), labels, [], 'ok ok ok ok'],
  ['an empty list', { ...listed(''), defaultConstraints: [] }, labels, [], 'ok ok ok ok'],
]);

const anyway = (maxSkew: number, topologyKey = zone, more: More = {}) =>
  spread(maxSkew, topologyKey, { whenUnsatisfiable: 'ScheduleAnyway', ...more });
const score = (where: string, constraints: readonly TopologySpreadConstraint[], own: PodFields['spec'] = {}) =>
  scores(
    plugin,
    { labels, spec: { topologySpreadConstraints: [...constraints], ...own } },
    { nodes, pods: webs(where) },
  );
table('scores', score, [
  ['no constraint', 'aab', [], undefined, [0, 0, 0, 0]],
  ['a hard constraint only', 'aab', [spread(1)], undefined, [0, 0, 0, 0]],
  ['without pods, only nodes without the label score 0', '', [anyway(1)], undefined, [100, 100, 100, 0]],
  ['one pod in the first zone', 'a', [anyway(1)], undefined, [0, 0, 100, 0]],
  ['two pods and one pod', 'aac', [anyway(1)], undefined, [33, 33, 100, 0]],
  ['one pod in each zone', 'ac', [anyway(1)], undefined, [100, 100, 100, 0]],
  ['by host', 'aab', [anyway(1, hostname)], undefined, [0, 50, 100, 100]],
  ['by host, one pod on each', 'abcd', [anyway(1, hostname)], undefined, [100, 100, 100, 100]],
  ['by zone and host', 'aac', [anyway(1), anyway(1, hostname)], undefined, [50, 100, 100, 0]],
  ['a larger maxSkew reduces the differences', 'aac', [anyway(5)], undefined, [71, 71, 100, 0]],
  ['a topology label that no node has', 'aac', [anyway(1, 'rack')], undefined, [0, 0, 0, 0]],
  [
    'the selector does not match the pods',
    'aac',
    [anyway(1, zone, { labelSelector: { matchLabels: { app: 'db' } } })],
    undefined,
    [100, 100, 100, 0],
  ],
  [
    'nodes that the pod’s affinity excludes do not count',
    'bbc',
    [anyway(1)],
    { nodeSelector: { [hostname]: 'a' } },
    [100, 100, 100, 0],
  ],
]);

const system = (where: string, selected: Record<string, string> | undefined) =>
  scores(plugin, { labels }, { nodes, pods: webs(where), ...(selected === undefined ? {} : { selected }) });
table('scores with the system defaults', system, [
  ['nothing selects the pod', 'aab', undefined, [0, 0, 0, 0]],
  ['nodes without a zone count', '', labels, [33, 33, 33, 100]],
  ['few pods on the host and in the zone score best', 'aab', labels, [14, 21, 71, 100]],
]);
