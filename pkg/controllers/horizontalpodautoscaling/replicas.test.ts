/** Replicas from measured values: the test cases of release 1.24. */
import t from 'tap';
import type { Pod, PodStatus } from '#api/core/v1/types.gen.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import type { PodMetric } from '#controllers/horizontalpodautoscaling/pods.js';
import {
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  type Target,
} from '#controllers/horizontalpodautoscaling/replicas.js';

const now = parseTime('2024-05-01T12:00:00Z');
const minute = 60_000;

interface Given {
  /** In the order of the pods; undefined for a pod without metrics. */
  readonly levels: readonly (number | undefined)[];
  readonly replicas?: number;
  readonly pods?: readonly PodKind[];
  readonly resource?: 'cpu' | 'memory';
}

/** By default ready. */
type PodKind = 'ready' | 'unready' | 'pending' | 'failed' | 'deleted' | 'fresh' | 'crashed' | 'silent';

const started = (agoMs: number, status: string, changedAgoMs = agoMs): PodStatus => ({
  phase: 'Running',
  startTime: formatTime(now - agoMs),
  conditions: [{ type: 'Ready', status, lastTransitionTime: formatTime(now - changedAgoMs) }],
});

const statuses: Readonly<Record<PodKind, PodStatus>> = {
  ready: started(60 * minute, 'True'),
  // Was never ready.
  unready: started(60 * minute, 'False'),
  pending: { phase: 'Pending' },
  failed: { ...started(60 * minute, 'True'), phase: 'Failed' },
  deleted: started(60 * minute, 'True'),
  // Just became ready: its sample is older.
  fresh: started(1.5 * minute, 'True', 0.25 * minute),
  // Has been ready for a long time.
  crashed: started(60 * minute, 'False', 5 * minute),
  silent: { phase: 'Running' },
};

function pod(kind: PodKind, i: number): Pod {
  return {
    metadata: {
      name: `p${i}`,
      namespace: 'default',
      ...(kind === 'deleted' ? { deletionTimestamp: formatTime(now) } : {}),
    },
    spec: {
      containers: [
        { name: 'main', image: 'i', resources: { requests: { cpu: '700m', memory: '700m' } } },
        { name: 'side', image: 'i', resources: { requests: { cpu: '300m', memory: '300m' } } },
      ],
    },
    status: statuses[kind],
  };
}

function setUp({ levels, replicas, pods }: Given) {
  const kinds = pods ?? levels.map(() => 'ready' as const);
  const metrics = new Map<string, PodMetric>();
  levels.forEach((milli, i) => {
    if (milli !== undefined) metrics.set(`p${i}`, { milli, timestampMs: now, windowMs: minute });
  });
  const target: Target = {
    specReplicas: replicas ?? kinds.length,
    statusReplicas: replicas ?? kinds.length,
    pods: kinds.map(pod),
    tolerance: 0.1,
    cpuInitializationMs: 2 * minute,
    initialReadinessMs: 10_000,
    now,
  };
  return { target, metrics };
}

/** Each pod requests 1000. Pods, target in percent, then replicas and percent, or the message. */
const utilizations: readonly [string, Given, number, [number, number] | string][] = [
  ['up', { levels: [300, 500, 700] }, 30, [5, 50]],
  ['down', { levels: [100, 300, 500, 250, 250], replicas: 5 }, 50, [3, 28]],
  ['in proportion, rounded up', { levels: [1000] }, 30, [4, 100]],
  ['within the tolerance above', { levels: [1020, 1010, 1000] }, 100, [3, 101]],
  ['within the tolerance below', { levels: [910, 905, 900] }, 100, [3, 90]],
  ['just beyond the tolerance', { levels: [1110, 1110, 1110] }, 100, [4, 111]],
  ['no usage', { levels: [0, 0] }, 50, [0, 0]],
  [
    'an unscheduled pod counts as idle when scaling up',
    { levels: [300, 500, 700], pods: ['pending', 'ready', 'ready'] },
    30,
    [4, 60],
  ],
  [
    'many starting pods prevent scaling up',
    { levels: [100, 500, 700], replicas: 3, pods: ['ready', 'pending', 'pending'] },
    30,
    [1, 10],
  ],
  [
    'pods that were never ready do not count when scaling down',
    { levels: [100, 300, 500, 250, 250], replicas: 5, pods: ['ready', 'ready', 'ready', 'unready', 'unready'] },
    50,
    [2, 30],
  ],
  [
    'samples from before a pod became ready do not count',
    { levels: [300, 500, 700], pods: ['fresh', 'ready', 'ready'] },
    30,
    [4, 60],
  ],
  [
    'a pod that was ready for long counts after it became unready',
    { levels: [100, 300, 500, 250, 250], replicas: 5, pods: ['ready', 'ready', 'ready', 'crashed', 'crashed'] },
    50,
    [3, 28],
  ],
  [
    'readiness matters for CPU only',
    { levels: [300, 500, 700], pods: ['unready', 'ready', 'ready'], resource: 'memory' },
    30,
    [5, 50],
  ],
  [
    'failed pods and pods in deletion are ignored',
    { levels: [100, 300, 500, 700, 900], replicas: 4, pods: ['ready', 'ready', 'ready', 'failed', 'deleted'] },
    60,
    [2, 30],
  ],
  ['pods without metrics count as idle when scaling up', { levels: [1000, 1000, undefined, undefined] }, 40, [5, 100]],
  ['pods without metrics count as busy when scaling down', { levels: [400, 950, undefined], replicas: 3 }, 80, [3, 67]],
  ['pods without metrics do not reverse the direction', { levels: [1000, undefined] }, 80, [2, 100]],
  ['pods without metrics within the tolerance', { levels: [840, undefined, undefined] }, 80, [3, 84]],
  [
    'pods without metrics and starting pods',
    { levels: [1000, undefined, 450], pods: ['ready', 'ready', 'unready'] },
    50,
    [3, 100],
  ],
  ['more pods than replicas do not reverse scaling down', { levels: [500, 500, 500, 500], replicas: 2 }, 60, [4, 50]],
  [
    'a rollout with a missing pod does not reverse the direction',
    { levels: [100, 100, 100, undefined], replicas: 1 },
    60,
    [1, 10],
  ],
  ['fewer pods than replicas do not reverse scaling up', { levels: [900, undefined], replicas: 5 }, 20, [5, 90]],
  ['no pods', { levels: [], replicas: 3 }, 50, 'no pods returned by selector while calculating replica count'],
  ['no metrics', { levels: [undefined, undefined] }, 50, 'did not receive metrics for any ready pods'],
  [
    'metrics of starting pods only',
    { levels: [300, 300], pods: ['unready', 'silent'] },
    50,
    'did not receive metrics for any ready pods',
  ],
  ['limited to the maximum of a 32-bit count', { levels: [2 ** 62] }, 1, [2 ** 31 - 1, 2 ** 31 - 1]],
  ['not below zero', { levels: [-5000] }, 50, [0, -500]],
];

for (const [name, given, percent, expected] of utilizations) {
  t.test(`utilization: ${name}`, async (t) => {
    const { target, metrics } = setUp(given);
    const calculate = () => replicasForUtilization(target, metrics, { name: given.resource ?? 'cpu' }, percent);
    if (typeof expected === 'string') t.throws(calculate, { message: expected });
    else t.match(calculate(), { replicas: expected[0], percent: expected[1] });
  });
}

t.test('one container is measured, and missing requests fail', async (t) => {
  const { target, metrics } = setUp({ levels: [700, 700] });
  t.match(replicasForUtilization(target, metrics, { name: 'cpu', container: 'main' }, 50), {
    replicas: 4,
    percent: 100,
    milli: 700,
  });
  t.throws(() => replicasForUtilization(target, metrics, { name: 'storage' }, 50), {
    message: 'missing request for storage',
  });
  t.throws(() => replicasForUtilization(target, metrics, { name: 'cpu', container: 'none' }, 50), {
    message: 'no metrics returned matched known pods',
  });
  const strangers = new Map([['other', { milli: 100, timestampMs: now, windowMs: minute }]]);
  t.throws(() => replicasForUtilization(target, strangers, { name: 'cpu' }, 50), {
    message: 'no metrics returned matched known pods',
  });
});

/** Pods, target, then replicas and average, or the message. */
const averages: readonly [string, Given, number, [number, number] | string][] = [
  ['up', { levels: [20_000, 10_000, 30_000] }, 15_000, [4, 20_000]],
  ['down', { levels: [12_000, 12_000, 12_000, 12_000, 12_000] }, 20_000, [3, 12_000]],
  ['within the tolerance', { levels: [20_000, 21_000, 21_000] }, 20_000, [3, 20_666]],
  [
    'readiness does not matter',
    { levels: [50_000, 15_000, 30_000], pods: ['ready', 'unready', 'unready'] },
    15_000,
    [7, 31_666],
  ],
  [
    'an unscheduled pod counts as idle',
    { levels: [50_000, 15_000, 30_000], pods: ['ready', 'ready', 'pending'] },
    15_000,
    [5, 32_500],
  ],
  ['pods without metrics count as on target when scaling down', { levels: [10_000, undefined] }, 20_000, [2, 10_000]],
  ['pods without metrics count as idle when scaling up', { levels: [60_000, undefined] }, 20_000, [3, 60_000]],
  ['pods without metrics, on target', { levels: [20_000, 20_000, undefined, undefined] }, 20_000, [4, 20_000]],
  ['no metrics', { levels: [undefined] }, 1000, 'did not receive metrics for any ready pods'],
  ['no pods', { levels: [] }, 1000, 'no pods returned by selector while calculating replica count'],
];

for (const [name, given, goal, expected] of averages) {
  t.test(`average: ${name}`, async (t) => {
    const { target, metrics } = setUp(given);
    const calculate = () => replicasForAverage(target, metrics, undefined, goal);
    if (typeof expected === 'string') t.throws(calculate, { message: expected });
    else t.same(calculate(), { replicas: expected[0], milli: expected[1] });
  });
}

t.test('a total value scales the ready pods', async (t) => {
  const calculate = (given: Given, milli: number) => replicasForValue(setUp(given).target, milli, 15_000).replicas;
  t.equal(calculate({ levels: [0, 0, 0] }, 20_000), 4);
  t.equal(calculate({ levels: [0, 0, 0, 0, 0] }, 6000), 2);
  t.equal(calculate({ levels: [0, 0, 0] }, 15_700), 3, 'within the tolerance');
  t.equal(calculate({ levels: [0, 0, 0], pods: ['ready', 'unready', 'pending'] }, 30_000), 2, 'times the ready pods');
  t.equal(calculate({ levels: [], replicas: 0 }, 16_000), 2, 'from nothing');
  t.equal(calculate({ levels: [], replicas: 0 }, 0), 0, 'stays at nothing');
  t.equal(calculate({ levels: [0, 0] }, 0), 0, 'to nothing');
  t.throws(() => calculate({ levels: [], replicas: 2 }, 60_000), {
    message: 'unable to calculate ready pods: no pods returned by selector while calculating replica count',
  });
});

t.test('a value per pod divides the total', async (t) => {
  const calculate = (replicas: number, milli: number) =>
    replicasForShare(setUp({ levels: [], replicas }).target, milli, 2000);
  t.same(calculate(3, 8600), { replicas: 5, milli: 2867 });
  t.same(calculate(5, 6000), { replicas: 3, milli: 1200 });
  t.same(calculate(3, 6500), { replicas: 3, milli: 2167 }, 'within the tolerance');
  t.same(calculate(0, 6500), { replicas: 4, milli: 6500 }, 'from nothing');
  t.same(calculate(0, 0), { replicas: 0, milli: 0 }, 'stays at nothing');
  t.same(calculate(1, 2 ** 63), { replicas: 2 ** 31 - 1, milli: 2 ** 63 });
});
