/** Chosen victims and nodes: a case has a few nodes with ten CPUs and their pods. */
import type { Taint } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { Budget } from '#scheduler/cluster/objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { Plans } from '#scheduler/decision/plans.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { Nominator } from '#scheduler/queue/nominator.js';
import { clusterOf, node, type PodFields, pod, table } from '#scheduler/testing/plugin-table.js';

const profile = defaultProfile(dialect);

/** `name priority cpus [start]`; the first letter is the budget. `*` after the name: it is being deleted. */
function placed(text: string, on: string): PodFields {
  const [shown = '', priority, cpu = '0', start] = text.split(' ');
  const name = shown.replace('*', '');
  return {
    name,
    on,
    labels: { app: name.slice(0, 1) },
    ...(shown.endsWith('*') ? { terminating: true } : {}),
    spec: { priority: Number(priority), containers: [{ name: 'c', resources: { requests: { cpu } } }] },
    ...(start === undefined ? {} : { status: { startTime: `2022-05-03T00:00:0${start}Z` } }),
  };
}

interface Options {
  /** Allowed evictions by the first letter of pod names. */
  readonly budgets?: Readonly<Record<string, number>>;
  readonly spec?: PodFields['spec'];
  readonly status?: PodFields['status'];
  readonly taints?: Readonly<Record<string, Taint[]>>;
  /** Nominated pods: `node name priority cpus`. */
  readonly nominated?: readonly string[];
}

const budget = ([app, allowed]: [string, number]): Budget => ({
  key: `default/${app}`,
  allowed,
  covers: ({ labels }) => labels['app'] === app,
});

/** `node: victims`, with `!` and the number of protected ones; or the message. `on`: comma-separated pods by node. */
function evicted(preemptor: string, on: Readonly<Record<string, string>>, options: Options = {}): string {
  const names = Object.keys(on);
  const cluster = clusterOf({
    nodes: names.map((name) =>
      node(
        name,
        { host: name },
        {
          allocatable: { cpu: '10', pods: '20' },
          spec: { taints: options.taints?.[name] ?? [] },
        },
      ),
    ),
    pods: names.flatMap((name) =>
      (on[name] ?? '')
        .split(', ')
        .filter(Boolean)
        .map((text) => placed(text, name)),
    ),
    budgets: Object.entries(options.budgets ?? {}).map(budget),
  });
  const nominator = new Nominator();
  for (const text of options.nominated ?? []) {
    const [where = '', ...rest] = text.split(' ');
    const { on: _on, ...fields } = placed(rest.join(' '), where);
    nominator.add(podInfo(pod(fields)), where);
  }
  const { on: _on, ...fields } = placed(`p ${preemptor}`, '');
  const info = podInfo(
    pod({
      ...fields,
      spec: { ...fields.spec, ...options.spec },
      ...(options.status === undefined ? {} : { status: options.status }),
    }),
  );
  const { filters } = new Plans(cluster).begin(info, profile);
  const args = { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 };
  const choice = new Preemption({ cluster, nominator, random: () => 0 }).find(info, filters, args);
  if ('message' in choice) return choice.message;
  const { pods, violations } = choice.victims;
  const shown = pods.map((victim) => victim.pod.metadata.name).join(' ');
  return `${choice.node.name}: ${shown}${violations > 0 ? ` !${violations}` : ''}`;
}

const one = (preemptor: string, a: string, options?: Options) => evicted(preemptor, { a }, options);
const nobody = '0/1 nodes are available: 1 No preemption victims found for incoming pod.';
const helpless = '0/1 nodes are available: 1 Preemption is not helpful for scheduling.';
const lacking = '0/1 nodes are available: 1 Insufficient cpu.';

table('victims on a node with ten CPUs', one, [
  ['the only pod', '9 5', 'v 0 10', undefined, 'a: v'],
  ['a pod with the same priority is not evicted', '5 5', 'v 5 10', undefined, nobody],
  ['a pod with a higher priority is not evicted', '5 5', 'v 6 10', undefined, nobody],
  ['an empty node that is too small', '5 11', '', undefined, nobody],
  ['a node that is too small even without pods', '5 11', 'v 0 10', undefined, lacking],
  ['too little is left beside the pods with higher priority', '5 5', 'k 9 6, v 0 4', undefined, lacking],
  ['a pod with higher priority stays', '5 5', 'k 9 5, v 0 5', undefined, 'a: v'],
  ['no more pods than necessary', '9 5', 'v 0 5, w 0 5', undefined, 'a: w'],
  ['the pod with the lowest priority is evicted', '9 5', 'v 1 5, w 0 5', undefined, 'a: w'],
  ['the pod with the lowest priority is evicted, in any order', '9 5', 'v 0 5, w 1 5', undefined, 'a: v'],
  ['the pod that started last is evicted', '9 5', 'v 0 5 1, w 0 5 2', undefined, 'a: w'],
  ['the pod that started last is evicted, in any order', '9 5', 'v 0 5 2, w 0 5 1', undefined, 'a: v'],
  ['a pod that has not started is evicted first', '9 5', 'v 0 5, w 0 5 1', undefined, 'a: v'],
  ['one large pod is evicted instead of two with higher priority', '9 6', 't 2 2, u 2 2, v 1 6', undefined, 'a: v'],
  ['a small pod stays when its eviction does not help', '9 6', 'u 5 6, v 0 1', undefined, 'a: u'],
  [
    'two pods with higher priority are evicted when the small pod fits beside the new pod',
    '9 8',
    'u 3 4, v 2 4, w 1 2',
    undefined,
    'a: u v',
  ],
  ['the victim with the highest priority comes first', '9 10', 'w 0 5, v 3 5', undefined, 'a: v w'],
  ['a negative priority', '0 5', 'v -1 10', undefined, 'a: v'],
  ['a pod without requests stays', '9 10', 'v 0 10, w 0 0', undefined, 'a: v'],
  ['a pod that is being deleted can be a victim', '9 5', 'v* 0 5, w 1 5', undefined, 'a: v'],
]);

table('budgets', one, [
  ['a budget that protects no victim', '9 5', 'v 0 10', { budgets: { x: 0 } }, 'a: v'],
  ['a budget that allows the eviction', '9 5', 'v 0 10', { budgets: { v: 1 } }, 'a: v'],
  ['a protected pod is evicted if no other can be', '9 5', 'v 0 10', { budgets: { v: 0 } }, 'a: v !1'],
  ['a protected pod stays if another can be evicted', '9 5', 'v 0 5, w 1 5', { budgets: { v: 0 } }, 'a: w'],
  ['a budget that allows one of two evictions', '9 10', 'v1 0 5, v2 0 5', { budgets: { v: 1 } }, 'a: v2 v1 !1'],
  ['a budget that allows both evictions', '9 10', 'v1 0 5, v2 0 5', { budgets: { v: 2 } }, 'a: v1 v2'],
  ['the pod with higher priority uses the budget', '9 5', 'v1 0 5, v2 1 5', { budgets: { v: 1 } }, 'a: v2'],
  ['a budget that allows a negative number of evictions', '9 5', 'v 0 10', { budgets: { v: -1 } }, 'a: v !1'],
  ['two budgets, one of which is violated', '9 10', 'v 0 5, w 0 5', { budgets: { v: 0, w: 1 } }, 'a: v w !1'],
]);

table('pods that may not evict', one, [
  [
    'the preemption policy Never',
    '9 5',
    'v 0 10',
    { spec: { preemptionPolicy: 'Never' } },
    'not eligible due to preemptionPolicy=Never.',
  ],
  ['the default preemption policy', '9 5', 'v 0 10', { spec: { preemptionPolicy: 'PreemptLowerPriority' } }, 'a: v'],
  [
    'a victim on the nominated node is being deleted',
    '9 5',
    'v* 0 10',
    { status: { nominatedNodeName: 'a' } },
    'not eligible due to a terminating pod on the nominated node.',
  ],
  [
    'another pod on the nominated node is being deleted',
    '9 5',
    'k* 10 5, v 0 5',
    { status: { nominatedNodeName: 'a' } },
    'a: v',
  ],
  ['no pod on the nominated node is being deleted', '9 5', 'v 0 10', { status: { nominatedNodeName: 'a' } }, 'a: v'],
  ['the nominated node is deleted', '9 5', 'v* 0 10', { status: { nominatedNodeName: 'z' } }, 'a: v'],
]);

const taint: Taint = { key: 'x', value: 'y', effect: 'NoSchedule' };
const far = { topologyKey: 'host', labelSelector: { matchLabels: { app: 'v' } } };
table('where evictions help', one, [
  ['a taint that the pod does not tolerate', '9 5', 'v 0 10', { taints: { a: [taint] } }, helpless],
  [
    'a taint that the pod tolerates',
    '9 5',
    'v 0 10',
    { taints: { a: [taint] }, spec: { tolerations: [{ operator: 'Exists' }] } },
    'a: v',
  ],
  ['a node selector that does not match', '9 5', 'v 0 10', { spec: { nodeSelector: { host: 'b' } } }, helpless],
  ['the name of another node', '9 5', 'v 0 10', { spec: { nodeName: 'b' } }, helpless],
  [
    'anti-affinity: the conflicting pod is evicted',
    '9 1',
    'v 0 1, w 0 1',
    { spec: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [far] } } } },
    'a: v',
  ],
  [
    'affinity: evictions cannot help',
    '9 1',
    'w 0 1',
    { spec: { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [far] } } } },
    helpless,
  ],
]);

table('pods nominated to the node', one, [
  ['the same priority: counts', '9 5', 'v 0 5', { nominated: ['a n 9 6'] }, lacking],
  ['a lower priority: does not count', '9 5', 'v 0 10', { nominated: ['a n 5 6'] }, 'a: v'],
  ['the same priority, with room for both', '9 5', 'v 0 10', { nominated: ['a n 9 5'] }, 'a: v'],
  ['the same priority: more pods are evicted', '9 5', 'v 1 4, w 0 5', { nominated: ['a n 9 5'] }, 'a: v w'],
]);

table('which of two nodes', evicted, [
  ['a node without violated budgets', '9 5', { a: 'v 0 10', b: 'w 5 10' }, { budgets: { v: 0 } }, 'b: w'],
  [
    'a node with fewer violated budgets',
    '9 10',
    { a: 'v1 0 5, v2 0 5', b: 'w 5 10' },
    { budgets: { v: 0, w: 0 } },
    'b: w !1',
  ],
  ['a lower highest priority of the victims', '9 5', { a: 'v 2 10', b: 'w 1 10' }, undefined, 'b: w'],
  [
    'the highest priority counts before the number of victims',
    '9 10',
    { a: 'v 2 10', b: 'w 1 5, x 1 5' },
    undefined,
    'b: w x',
  ],
  ['the sum of the priorities counts second', '9 10', { a: 'v 2 5, w 1 5', b: 'x 2 5, y 0 5' }, undefined, 'b: x y'],
  ['fewer victims of the same priority', '9 10', { a: 'v 0 5, w 0 5', b: 'x 0 10' }, undefined, 'b: x'],
  ['the victim with the highest priority started later', '9 10', { a: 'v 0 10 1', b: 'w 0 10 2' }, undefined, 'b: w'],
  [
    'only the start of the victims with the highest priority counts',
    '9 10',
    { a: 'v 1 5 1, w 0 5 4', b: 'x 1 5 2, y 0 5 3' },
    undefined,
    'b: x y',
  ],
  ['the first of equal nodes', '9 5', { a: 'v 0 10', b: 'w 0 10' }, undefined, 'a: v'],
  ['the only node where eviction helps', '9 5', { a: 'k 9 10', b: 'v 8 10' }, undefined, 'b: v'],
  ['the only node without a taint', '9 5', { a: 'v 0 10', b: 'w 8 10' }, { taints: { a: [taint] } }, 'b: w'],
  [
    'no node: the message counts both reasons',
    '5 5',
    { a: 'v 0 10', b: 'k 9 10' },
    { taints: { a: [taint] } },
    '0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.',
  ],
]);
