/** Stabilization, scaling policies and bounds: the test cases of release 1.24. */
import t from 'tap';
import type { HPAScalingPolicy, HPAScalingRules } from '#api/autoscaling/v2/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { type DesiredScale, normalize } from '#controllers/horizontalpodautoscaling/behavior.js';
import {
  changedWithin,
  type History,
  newHistory,
  recommended,
  type ScaleEvent,
  scaled,
} from '#controllers/horizontalpodautoscaling/history.js';

const nowMs = 10_000_000;
const minuteMs = 60_000;

type Past = readonly (readonly [number, number])[];

/** Each entry: number of pods, seconds ago. */
interface Remembered {
  readonly recommendations?: Past;
  readonly ups?: Past;
  readonly downs?: Past;
}

function historyOf({ recommendations = [], ups = [], downs = [] }: Remembered): History {
  const events = (past: Past): ScaleEvent[] => past.map(([change, ago]) => ({ change, atMs: nowMs - ago * 1000 }));
  return {
    uid: 'u',
    recommendations: recommendations.map(([replicas, ago]) => ({ replicas, atMs: nowMs - ago * 1000 })),
    ups: events(ups),
    downs: events(downs),
  };
}

const pods = (value: number, periodSeconds = 60): HPAScalingPolicy => ({ type: 'Pods', value, periodSeconds });
const percent = (value: number, periodSeconds = 60): HPAScalingPolicy => ({ type: 'Percent', value, periodSeconds });

function requestOf(request: Partial<DesiredScale>): DesiredScale {
  const base = { current: 5, desired: 5, min: 1, max: 1000, downscaleStabilizationMs: 5 * minuteMs, nowMs };
  return { behavior: undefined, ...base, ...request };
}

/** Desired size, history, then replicas, the reasons of AbleToScale and ScalingLimited, and the latter's status. */
const defaults: readonly [string, Partial<DesiredScale>, Remembered, [number, string, string, boolean]][] = [
  ['stays', {}, {}, [5, 'ReadyForNewScale', 'DesiredWithinRange', false]],
  ['up', { desired: 8 }, {}, [8, 'ReadyForNewScale', 'DesiredWithinRange', false]],
  ['at most twice as many', { desired: 11 }, {}, [10, 'ReadyForNewScale', 'ScaleUpLimit', true]],
  ['up to four at once', { current: 1, desired: 9 }, {}, [4, 'ReadyForNewScale', 'ScaleUpLimit', true]],
  ['not above the maximum', { desired: 9, max: 7 }, {}, [7, 'ReadyForNewScale', 'TooManyReplicas', true]],
  ['not below the minimum', { desired: 1, min: 3 }, {}, [3, 'ReadyForNewScale', 'TooFewReplicas', true]],
  ['down', { desired: 2 }, {}, [2, 'ReadyForNewScale', 'DesiredWithinRange', false]],
  [
    'the highest recent recommendation',
    { desired: 2 },
    {
      recommendations: [
        [9, 301],
        [4, 299],
        [3, 10],
      ],
    },
    [4, 'ScaleDownStabilized', 'DesiredWithinRange', false],
  ],
  [
    'a recent recommendation above the current size',
    { desired: 2 },
    { recommendations: [[7, 30]] },
    [7, 'ScaleDownStabilized', 'DesiredWithinRange', false],
  ],
  [
    'the default window of the options',
    { desired: 2, downscaleStabilizationMs: minuteMs },
    {
      recommendations: [
        [4, 61],
        [3, 59],
      ],
    },
    [3, 'ScaleDownStabilized', 'DesiredWithinRange', false],
  ],
];

for (const [name, request, past, [replicas, able, limited, isLimited]] of defaults) {
  t.test(`without a behavior: ${name}`, async (t) => {
    const normal = normalize(requestOf(request), historyOf(past));
    t.match(normal, { replicas, able: { reason: able }, limited: { reason: limited, isLimited } });
    t.match(normal.history.recommendations.at(-1), { replicas: request.desired ?? 5, atMs: nowMs });
  });
}

/** Rules, current and desired size, recent events, then the size and the reason. */
interface Limited {
  readonly rules: HPAScalingRules;
  readonly from: number;
  readonly to: number;
  readonly past?: Remembered;
  readonly expected: readonly [number, string];
  readonly min?: number;
  readonly max?: number;
}

const free = 'DesiredWithinRange';

const ups: readonly [string, Limited][] = [
  ['pods', { rules: { policies: [pods(100)] }, from: 100, to: 500, expected: [200, 'ScaleUpLimit'] }],
  ['percent', { rules: { policies: [percent(200)] }, from: 10, to: 500, expected: [30, 'ScaleUpLimit'] }],
  ['percent, rounded up', { rules: { policies: [percent(1)] }, from: 3, to: 9, expected: [4, 'ScaleUpLimit'] }],
  ['as many pods as a period allows', { rules: { policies: [pods(2)] }, from: 3, to: 5, expected: [5, free] }],
  [
    'the policy that allows most',
    { rules: { policies: [pods(4), percent(100)] }, from: 10, to: 100, expected: [20, 'ScaleUpLimit'] },
  ],
  [
    'the policy that allows least',
    {
      rules: { policies: [pods(4), percent(100)], selectPolicy: 'Min' },
      from: 10,
      to: 100,
      expected: [14, 'ScaleUpLimit'],
    },
  ],
  [
    'none',
    { rules: { policies: [pods(4)], selectPolicy: 'Disabled' }, from: 10, to: 100, expected: [10, 'ScaleUpLimit'] },
  ],
  [
    'the rest of the policy in this period',
    {
      rules: { policies: [pods(10)] },
      from: 20,
      to: 50,
      past: {
        ups: [
          [4, 50],
          [3, 30],
          [9, 60],
        ],
      },
      expected: [23, 'ScaleUpLimit'],
    },
  ],
  [
    'the policy is used up in this period',
    { rules: { policies: [pods(5)] }, from: 20, to: 50, past: { ups: [[9, 50]] }, expected: [20, 'ScaleUpLimit'] },
  ],
  [
    'percent of the size at the start of the period',
    { rules: { policies: [percent(100)] }, from: 15, to: 50, past: { ups: [[5, 30]] }, expected: [20, 'ScaleUpLimit'] },
  ],
  [
    'each policy with its period',
    {
      rules: { policies: [pods(10, 60), pods(20, 300)], selectPolicy: 'Min' },
      from: 30,
      to: 90,
      past: { ups: [[18, 120]] },
      expected: [32, 'ScaleUpLimit'],
    },
  ],
  [
    'changes of the other direction do not count',
    {
      rules: { policies: [percent(300, 300)] },
      from: 6,
      to: 24,
      past: { ups: [[4, 60]], downs: [[2, 30]] },
      expected: [8, 'ScaleUpLimit'],
    },
  ],
  [
    'not above the maximum',
    { rules: { policies: [pods(50)] }, from: 10, to: 100, max: 40, expected: [40, 'TooManyReplicas'] },
  ],
];

const downs: readonly [string, Limited][] = [
  ['pods', { rules: { policies: [pods(5)] }, from: 100, to: 0, expected: [95, 'ScaleDownLimit'] }],
  ['percent', { rules: { policies: [percent(20)] }, from: 10, to: 1, expected: [8, 'ScaleDownLimit'] }],
  ['percent, rounded down', { rules: { policies: [percent(10)] }, from: 5, to: 1, expected: [4, 'ScaleDownLimit'] }],
  ['more pods than exist', { rules: { policies: [percent(300)] }, from: 5, to: 1, expected: [1, free] }],
  [
    'the policy that allows most',
    { rules: { policies: [pods(4), percent(50)] }, from: 100, to: 1, expected: [50, 'ScaleDownLimit'] },
  ],
  [
    'the policy that allows least',
    {
      rules: { policies: [pods(4), percent(50)], selectPolicy: 'Min' },
      from: 100,
      to: 1,
      expected: [96, 'ScaleDownLimit'],
    },
  ],
  [
    'none',
    { rules: { policies: [pods(4)], selectPolicy: 'Disabled' }, from: 10, to: 1, expected: [10, 'ScaleDownLimit'] },
  ],
  [
    'the rest of the policy in this period',
    {
      rules: { policies: [pods(10)] },
      from: 20,
      to: 1,
      past: {
        downs: [
          [4, 50],
          [3, 30],
          [9, 60],
        ],
      },
      expected: [17, 'ScaleDownLimit'],
    },
  ],
  [
    'the policy is used up in this period',
    { rules: { policies: [pods(5)] }, from: 20, to: 1, past: { downs: [[9, 50]] }, expected: [20, 'ScaleDownLimit'] },
  ],
  [
    'percent of the size at the start of the period',
    {
      rules: { policies: [percent(50)] },
      from: 15,
      to: 1,
      past: { downs: [[5, 30]] },
      expected: [10, 'ScaleDownLimit'],
    },
  ],
  [
    'not below the minimum',
    { rules: { policies: [pods(50)] }, from: 20, to: 1, min: 5, expected: [5, 'TooFewReplicas'] },
  ],
];

for (const [direction, cases] of [
  ['up', ups],
  ['down', downs],
] as const) {
  for (const [name, { rules, from, to, past = {}, expected, min = 0, max = 1000 }] of cases) {
    t.test(`${direction}: ${name}`, async (t) => {
      const still = { stabilizationWindowSeconds: 0 };
      const behavior = { scaleUp: { ...still, ...rules }, scaleDown: { ...still, ...rules } };
      const normal = normalize(requestOf({ current: from, desired: to, min, max, behavior }), historyOf(past));
      t.match(normal, { replicas: expected[0], limited: { reason: expected[1], isLimited: expected[0] !== to } });
      t.equal(normal.able.reason, 'ReadyForNewScale');
    });
  }
}

/** Windows up and down (undefined: not set), from, to, past recommendations, then the size and the reason. */
const windows: readonly [string, number | undefined, number | undefined, number, number, Past, number, string][] = [
  ['none', 0, 0, 4, 10, [[2, 10]], 10, 'ReadyForNewScale'],
  [
    'up: the lowest recommendation',
    300,
    0,
    4,
    10,
    [
      [8, 10],
      [6, 299],
      [5, 301],
    ],
    6,
    'ScaleUpStabilized',
  ],
  [
    'down: the highest recommendation',
    0,
    300,
    9,
    2,
    [
      [4, 10],
      [6, 299],
      [8, 301],
    ],
    6,
    'ScaleDownStabilized',
  ],
  ['windows in both directions: the size stays in between', 300, 300, 5, 9, [[3, 60]], 5, 'ScaleUpStabilized'],
  [
    'a lower recommendation does not scale up',
    300,
    600,
    17,
    10,
    [
      [25, 60],
      [12, 30],
    ],
    17,
    'ScaleDownStabilized',
  ],
  [
    'the default window of the options',
    0,
    undefined,
    9,
    2,
    [
      [7, 299],
      [8, 301],
    ],
    7,
    'ScaleDownStabilized',
  ],
  ['no default window for scaling up', undefined, 0, 4, 10, [[2, 1]], 10, 'ReadyForNewScale'],
  [
    'desired replicas are current replicas',
    300,
    300,
    5,
    5,
    [
      [9, 10],
      [1, 10],
    ],
    5,
    'ReadyForNewScale',
  ],
];

for (const [name, up, down, from, to, past, replicas, reason] of windows) {
  t.test(`windows: ${name}`, async (t) => {
    const rules = (seconds: number | undefined): HPAScalingRules => ({
      policies: [percent(1000)],
      ...(seconds === undefined ? {} : { stabilizationWindowSeconds: seconds }),
    });
    const behavior = { scaleUp: rules(up), scaleDown: rules(down) };
    const request = requestOf({ current: from, desired: to, behavior });
    t.match(normalize(request, historyOf({ recommendations: past })), { replicas, able: { reason } });
  });
}

t.test('the history keeps only what windows and periods need', async (t) => {
  let history = recommended(newHistory('u'), 3, 0, 1000);
  for (let atMs = 1; atMs <= 500; atMs += 1) history = recommended(history, 3, atMs, 1000);
  t.same(history.recommendations, [{ replicas: 3, atMs: 500 }], 'the last of equal recommendations');
  history = recommended(recommended(history, 4, 600, 1000), 5, 1501, 1000);
  t.same(
    history.recommendations.map(({ replicas }) => replicas),
    [4, 5],
    'old recommendations are dropped',
  );
  const rules = { up: { policies: [pods(1, 10), pods(1, 60)] }, down: { policies: [pods(1, 5)] } };
  const changes = [
    { from: 1, to: 4, atMs: 0 },
    { from: 4, to: 2, atMs: 1000 },
    { from: 2, to: 7, atMs: 60_001 },
  ];
  for (const change of changes) history = scaled(history, change, rules);
  t.same(history.ups, [{ change: 5, atMs: 60_001 }]);
  t.same(history.downs, [{ change: 2, atMs: 1000 }]);
  t.equal(scaled(history, { from: 2, to: 2, atMs: 9 }, rules), history);
  t.equal(changedWithin(history.downs, 5, 6000), 0, 'the end of the window is exclusive');
  t.equal(changedWithin(history.downs, 5, 5999), 2);
});

t.test('random histories keep all limits', async (t) => {
  const seed = 20_240_501;
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  const int = (below: number) => Math.floor(random() * below);
  for (let round = 0; round < 200; round += 1) {
    const rules = (): HPAScalingRules => ({
      stabilizationWindowSeconds: int(2) * int(300),
      selectPolicy: (['Max', 'Min', 'Disabled'] as const)[int(3)] ?? 'Max',
      policies: Array.from({ length: 1 + int(3) }, () => (int(2) === 0 ? pods : percent)(1 + int(60), 15 + int(200))),
    });
    const behavior = { scaleUp: rules(), scaleDown: rules() };
    const min = int(5);
    const max = min + 1 + int(60);
    let current = min + int(max - min + 1);
    let history = newHistory('u');
    const sizes: { atMs: number; size: number }[] = [{ atMs: 0, size: current }];
    for (let atMs = 15_000; atMs < 40 * 15_000; atMs += 15_000) {
      const desired = int(2) === 0 ? int(120) : current + int(9) - 4;
      const normal = normalize(requestOf({ current, desired, min, max, behavior, nowMs: atMs }), history);
      const change = { from: current, to: normal.replicas, atMs };
      const { scaleUp: up, scaleDown: down } = behavior;
      history = scaled(normal.history, change, { up, down });
      if (change.to < min || change.to > max) t.fail(`${change.to} is outside of ${min} … ${max}`);
      const rising = change.to > change.from;
      const side = rising ? up : down;
      if (change.to !== change.from && side.selectPolicy === 'Disabled') t.fail('no change is allowed');
      current = change.to;
      sizes.push({ atMs, size: current });
      if (change.to === change.from) continue;
      // The range that a policy allows from any size in its period.
      const allowed = side.policies?.map(({ type, value, periodSeconds }) => {
        const inPeriod = sizes
          .filter(({ atMs: at }) => at > atMs - periodSeconds * 1000 - 15_000)
          .map(({ size }) => size);
        const start = rising ? Math.max(...inPeriod.slice(0, -1)) : Math.min(...inPeriod.slice(0, -1));
        if (type === 'Pods') return rising ? start + value : start - value;
        return rising ? Math.ceil(start * (1 + value / 100)) : Math.trunc(start * (1 - value / 100));
      });
      const farthest = rising ? Math.max(...(allowed ?? [])) : Math.min(...(allowed ?? []));
      if (rising ? change.to > farthest : change.to < farthest) t.fail(`round ${round}: ${change.from} → ${change.to}`);
    }
  }
  t.pass('all rounds');
});
