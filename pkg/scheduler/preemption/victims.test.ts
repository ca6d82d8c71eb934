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

table('victims on a node of ten CPUs', one, [
  ['all that there is', '9 5', 'v 0 10', undefined, 'a: v'],
  ['an equal is none', '5 5', 'v 5 10', undefined, nobody],
  ['a more important one is none', '5 5', 'v 6 10', undefined, nobody],
  ['a node that is empty and too small', '5 11', '', undefined, nobody],
  ['all together are too small', '5 11', 'v 0 10', undefined, lacking],
  ['what is left by the important is too small', '5 5', 'k 9 6, v 0 4', undefined, lacking],
  ['the important stays', '5 5', 'k 9 5, v 0 5', undefined, 'a: v'],
  ['no more than necessary', '9 5', 'v 0 5, w 0 5', undefined, 'a: w'],
  ['the least important goes', '9 5', 'v 1 5, w 0 5', undefined, 'a: w'],
  ['the least important goes, whatever its place', '9 5', 'v 0 5, w 1 5', undefined, 'a: v'],
  ['of equals the one that started last goes', '9 5', 'v 0 5 1, w 0 5 2', undefined, 'a: w'],
  ['of equals the one that started first stays', '9 5', 'v 0 5 2, w 0 5 1', undefined, 'a: v'],
  ['one that has not started goes first', '9 5', 'v 0 5, w 0 5 1', undefined, 'a: v'],
  ['the large one goes so that two small ones stay', '9 6', 't 2 2, u 2 2, v 1 6', undefined, 'a: v'],
  ['a small one of little importance stays when it does not help', '9 6', 'u 5 6, v 0 1', undefined, 'a: u'],
  [
    'two more important ones go, since without them a small one can stay',
    '9 8',
    'u 3 4, v 2 4, w 1 2',
    undefined,
    'a: u v',
  ],
  ['the most important of the victims is told first', '9 10', 'w 0 5, v 3 5', undefined, 'a: v w'],
  ['one below zero', '0 5', 'v -1 10', undefined, 'a: v'],
  ['who asks for nothing stays', '9 10', 'v 0 10, w 0 0', undefined, 'a: v'],
  ['one that is being deleted counts', '9 5', 'v* 0 5, w 1 5', undefined, 'a: v'],
]);

table('budgets', one, [
  ['a budget that protects no victim', '9 5', 'v 0 10', { budgets: { x: 0 } }, 'a: v'],
  ['one that allows it', '9 5', 'v 0 10', { budgets: { v: 1 } }, 'a: v'],
  ['one that does not: it goes all the same', '9 5', 'v 0 10', { budgets: { v: 0 } }, 'a: v !1'],
  ['the protected one stays if another can go', '9 5', 'v 0 5, w 1 5', { budgets: { v: 0 } }, 'a: w'],
  ['allowed for one of two', '9 10', 'v1 0 5, v2 0 5', { budgets: { v: 1 } }, 'a: v2 v1 !1'],
  ['allowed for both', '9 10', 'v1 0 5, v2 0 5', { budgets: { v: 2 } }, 'a: v1 v2'],
  ['the more important of two uses what is allowed', '9 5', 'v1 0 5, v2 1 5', { budgets: { v: 1 } }, 'a: v2'],
  ['allowed a negative number', '9 5', 'v 0 10', { budgets: { v: -1 } }, 'a: v !1'],
  ['two budgets, one of each', '9 10', 'v 0 5, w 0 5', { budgets: { v: 0, w: 1 } }, 'a: v w !1'],
]);

table('pods that may not evict', one, [
  [
    'its policy is Never',
    '9 5',
    'v 0 10',
    { spec: { preemptionPolicy: 'Never' } },
    'not eligible due to preemptionPolicy=Never.',
  ],
  ['it says that it does', '9 5', 'v 0 10', { spec: { preemptionPolicy: 'PreemptLowerPriority' } }, 'a: v'],
  [
    'a victim is leaving already',
    '9 5',
    'v* 0 10',
    { status: { nominatedNodeName: 'a' } },
    'not eligible due to a terminating pod on the nominated node.',
  ],
  ['a more important one is leaving', '9 5', 'k* 10 5, v 0 5', { status: { nominatedNodeName: 'a' } }, 'a: v'],
  ['no pod is leaving', '9 5', 'v 0 10', { status: { nominatedNodeName: 'a' } }, 'a: v'],
  ['its node is gone', '9 5', 'v* 0 10', { status: { nominatedNodeName: 'z' } }, 'a: v'],
]);

const taint: Taint = { key: 'x', value: 'y', effect: 'NoSchedule' };
const far = { topologyKey: 'host', labelSelector: { matchLabels: { app: 'v' } } };
table('where evictions help', one, [
  ['a taint', '9 5', 'v 0 10', { taints: { a: [taint] } }, helpless],
  [
    'a taint that it tolerates',
    '9 5',
    'v 0 10',
    { taints: { a: [taint] }, spec: { tolerations: [{ operator: 'Exists' }] } },
    'a: v',
  ],
  ['a selector', '9 5', 'v 0 10', { spec: { nodeSelector: { host: 'b' } } }, helpless],
  ['another name', '9 5', 'v 0 10', { spec: { nodeName: 'b' } }, helpless],
  [
    'anti-affinity: the conflicting pod goes',
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

table('pods that wait for the node', one, [
  ['as important: it counts', '9 5', 'v 0 5', { nominated: ['a n 9 6'] }, lacking],
  ['less important: it does not', '9 5', 'v 0 10', { nominated: ['a n 5 6'] }, 'a: v'],
  ['as important, room for both', '9 5', 'v 0 10', { nominated: ['a n 9 5'] }, 'a: v'],
  ['as important, more has to go', '9 5', 'v 1 4, w 0 5', { nominated: ['a n 9 5'] }, 'a: v w'],
]);

table('which of two nodes', evicted, [
  ['one without protected pods', '9 5', { a: 'v 0 10', b: 'w 5 10' }, { budgets: { v: 0 } }, 'b: w'],
  [
    'one with fewer protected pods',
    '9 10',
    { a: 'v1 0 5, v2 0 5', b: 'w 5 10' },
    { budgets: { v: 0, w: 0 } },
    'b: w !1',
  ],
  ['less important victims', '9 5', { a: 'v 2 10', b: 'w 1 10' }, undefined, 'b: w'],
  [
    'the most important victim counts, not their number',
    '9 10',
    { a: 'v 2 10', b: 'w 1 5, x 1 5' },
    undefined,
    'b: w x',
  ],
  ['then the sum of what they are worth', '9 10', { a: 'v 2 5, w 1 5', b: 'x 2 5, y 0 5' }, undefined, 'b: x y'],
  ['fewer pods are worth less', '9 10', { a: 'v 0 5, w 0 5', b: 'x 0 10' }, undefined, 'b: x'],
  ['the most important started later', '9 10', { a: 'v 0 10 1', b: 'w 0 10 2' }, undefined, 'b: w'],
  [
    'only the start of the most important victims counts',
    '9 10',
    { a: 'v 1 5 1, w 0 5 4', b: 'x 1 5 2, y 0 5 3' },
    undefined,
    'b: x y',
  ],
  ['the first of equals', '9 5', { a: 'v 0 10', b: 'w 0 10' }, undefined, 'a: v'],
  ['the only one where it helps', '9 5', { a: 'k 9 10', b: 'v 8 10' }, undefined, 'b: v'],
  ['the only one without a taint', '9 5', { a: 'v 0 10', b: 'w 8 10' }, { taints: { a: [taint] } }, 'b: w'],
  [
    'neither: each says why',
    '5 5',
    { a: 'v 0 10', b: 'k 9 10' },
    { taints: { a: [taint] } },
    '0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.',
  ],
]);
