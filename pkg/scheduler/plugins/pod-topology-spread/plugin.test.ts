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

table('constraints, with pods on these nodes', skew, [
  ['none', 'aaa', 'ok ok ok ok'],
  ['no pods yet', '', spread(1), 'ok ok ok no'],
  ['one in the first zone', 'a', spread(1), 'no no ok no'],
  ['one in the second zone', 'c', spread(1), 'ok ok no no'],
  ['one in each', 'ac', spread(1), 'ok ok ok no'],
  ['two and one', 'abc', spread(1), 'no no ok no'],
  ['two and none, and that is more than allowed', 'ab', spread(1), 'no no ok no'],
  ['two may be more', 'a', spread(2), 'ok ok ok no'],
  ['two are more already', 'aa', spread(2), 'no no ok no'],
  ['those without the label do not count', 'ddd', spread(1), 'ok ok ok no'],
  ['by host', 'a', spread(1, hostname), 'no ok ok ok'],
  ['by host, one on each', 'abcd', spread(1, hostname), 'ok ok ok ok'],
  ['by host, one is missing', 'abc', spread(1, hostname), 'no no no ok'],
  ['by a label that no node has', '', spread(1, 'rack'), 'no no no no'],
  ['a preference refuses no node', 'aaa', spread(1, zone, { whenUnsatisfiable: 'ScheduleAnyway' }), 'ok ok ok ok'],
  ['two constraints', 'a', spread(1), spread(1, hostname), 'no no ok no'],
  ['two constraints: by zone it would do, not by host', 'acc', spread(1), spread(1, hostname), 'no ok no no'],
  ['two constraints: nodes without one of the labels do not count', 'd', spread(1), spread(1, hostname), 'ok ok ok no'],
  ['two constraints of one key', 'ac', spread(1), spread(2), 'ok ok ok no'],
  ['a preference besides', 'a', spread(1), spread(1, hostname, { whenUnsatisfiable: 'ScheduleAnyway' }), 'no no ok no'],
  ['an empty selector: all pods', 'a', spread(1, zone, { labelSelector: {} }), 'no no ok no'],
  [
    'a selector of other pods: the pod itself does not count',
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
  ['one like it', webs('a'), {}, undefined, occupied],
  ['one of another namespace', webs('a', { namespace: 'other' }), {}, undefined, free],
  ['one that is being deleted', webs('a', { terminating: true }), {}, undefined, free],
  ['one with other labels', webs('a', { labels: { app: 'db' } }), {}, undefined, free],
  ['one without labels', webs('a', { labels: {} }), {}, undefined, free],
  ['one without labels, all are meant', webs('a', { labels: {} }), { labelSelector: {} }, undefined, occupied],
  ['no pod matches without a selector', webs('aaa'), { labelSelector: undefined } as unknown as More, undefined, free],
  ['the pod itself is not meant, one there is', webs('a'), {}, { labels: {} }, free],
  ['the pod itself is not meant, two are', webs('ab'), {}, { labels: {} }, occupied],
  [
    'by expression',
    webs('a'),
    { labelSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
    undefined,
    occupied,
  ],
  [
    'nodes that the pod does not select do not count',
    webs('a'),
    {},
    { labels, spec: { nodeSelector: { [zone]: '1' } } },
    free,
  ],
  [
    'nodes that its affinity excludes do not count',
    webs('ab'),
    {},
    { labels, spec: { nodeSelector: { [hostname]: 'a' } } },
    free,
  ],
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
table('a third zone, cordoned and tainted, counts', withThird, [
  ['one in each of the others', 'ac', 1, 'no no no no ok'],
  ['that are two', 'ac', 2, 'ok ok ok no ok'],
  ['one in each', 'ace', 1, 'ok ok ok no ok'],
]);

const atLeast: SpreadArgs = { ...systemDefaults(dialect), minDomains: true };
const domains = (where: string, minDomains: number | undefined, args: SpreadArgs) =>
  answers(
    podTopologySpread(dialect, args),
    { labels, spec: { topologySpreadConstraints: [spread(1, zone, minDomains === undefined ? {} : { minDomains })] } },
    { nodes, pods: webs(where) },
  );
table('domains that there should be', domains, [
  ['as many as there are', 'ac', 2, atLeast, free],
  ['fewer than there are', 'ac', 1, atLeast, free],
  ['more than there are: those that lack have none', 'ac', 3, atLeast, 'no no no no'],
  ['more domains than exist, no pods yet', '', 3, atLeast, free],
  ['more than there are, one', 'a', 3, atLeast, occupied],
  ['nothing said', 'ac', undefined, atLeast, free],
  ['without the gate it is not looked at', 'ac', 3, systemDefaults(dialect), free],
]);

const refusalAt = (name: string, where: string) =>
  answer(plugin, { labels, spec: { topologySpreadConstraints: [spread(1)] } }, { nodes, pods: webs(where) }, name);
const uneven = "node(s) didn't match pod topology spread constraints";
table('reasons', refusalAt, [
  ['too uneven: evictions can help', 'a', 'a', uneven],
  ['no label: they cannot', 'd', '', `!${uneven} (missing required label)`],
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
  ['of a list', listed('DoNotSchedule'), labels, [], occupied],
  ['of a list, a preference', listed('ScheduleAnyway'), labels, [], 'ok ok ok ok'],
  ['nothing selects the pod', listed('DoNotSchedule'), undefined, [], 'ok ok ok ok'],
  ['what selects the pod selects no other', listed('DoNotSchedule'), { app: 'db' }, [], free],
  ['its own come instead', listed('DoNotSchedule'), labels, [spread(5)], free],
  [
    'its own preference replaces the defaults',
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
  ['a hard one only', 'aab', [spread(1)], undefined, [0, 0, 0, 0]],
  ['no pods yet: nodes without the label score 0', '', [anyway(1)], undefined, [100, 100, 100, 0]],
  ['one in the first zone', 'a', [anyway(1)], undefined, [0, 0, 100, 0]],
  ['two and one', 'aac', [anyway(1)], undefined, [33, 33, 100, 0]],
  ['as many in each', 'ac', [anyway(1)], undefined, [100, 100, 100, 0]],
  ['by host', 'aab', [anyway(1, hostname)], undefined, [0, 50, 100, 100]],
  ['by host, all alike', 'abcd', [anyway(1, hostname)], undefined, [100, 100, 100, 100]],
  ['by both', 'aac', [anyway(1), anyway(1, hostname)], undefined, [50, 100, 100, 0]],
  ['more may differ: it counts less', 'aac', [anyway(5)], undefined, [71, 71, 100, 0]],
  ['a label that no node has', 'aac', [anyway(1, 'rack')], undefined, [0, 0, 0, 0]],
  [
    'others',
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
table('scores by the system’s constraints', system, [
  ['nothing selects the pod', 'aab', undefined, [0, 0, 0, 0]],
  ['nodes without a zone count', '', labels, [33, 33, 33, 100]],
  ['few on the host and in the zone are best', 'aab', labels, [14, 21, 71, 100]],
]);
