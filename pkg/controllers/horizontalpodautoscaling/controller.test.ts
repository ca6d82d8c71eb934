import t, { type Test } from 'tap';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import type { HorizontalPodAutoscalerSpec, MetricSpec } from '#api/autoscaling/v2/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { forbidden, StatusError, serverTimeout } from '#apimachinery/errors/status.js';
import { FakeServers, processor, syncMs } from '#controllers/horizontalpodautoscaling/testing/fake-servers.js';

const unserved = 'the server could not find the requested resource';
const found = "AbleToScale True SucceededGetScale: the HPA controller was able to get the target's current scale";
const readyForNew = 'AbleToScale True ReadyForNewScale: recommended size matches current size';
const within = 'ScalingLimited False DesiredWithinRange: the desired count is within the acceptable range';
const byProcessor = 'cpu resource utilization (percentage of request)';

t.test('more pods where they are busy, and what it says of it', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([500, 700, 900]);
  await servers.harness.start(servers.controller());
  t.same(servers.requests, [], 'the first look is after a period');
  await servers.harness.advance(syncMs);
  t.same(servers.written, [5]);
  const time = formatTime(servers.harness.clock.now());
  const condition = (type: string, reason: string, message: string, status = 'True') => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: time,
  });
  t.same(servers.status, {
    lastScaleTime: time,
    currentReplicas: 3,
    desiredReplicas: 5,
    currentMetrics: [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 70, averageValue: '700m' } } },
    ],
    conditions: [
      condition('AbleToScale', 'SucceededRescale', 'the HPA controller was able to update the target scale to 5'),
      condition(
        'ScalingActive',
        'ValidMetricFound',
        `the HPA was able to successfully calculate a replica count from ${byProcessor}`,
      ),
      condition('ScalingLimited', 'DesiredWithinRange', 'the desired count is within the acceptable range', 'False'),
    ],
  });
  t.same(servers.harness.events, [`Normal SuccessfulRescale web: New size: 5; reason: ${byProcessor} above target`]);

  servers.setPods([500, 500, 500, 500, 500]);
  await servers.harness.advance(syncMs);
  t.same(servers.written, [5]);
  t.match(servers.status, { lastScaleTime: time, currentReplicas: 5, desiredReplicas: 5 });
  t.equal(servers.conditions[0], readyForNew);
  const writes = () => servers.harness.api.takeWrites().length;
  writes();
  await servers.harness.advance(4 * syncMs);
  t.equal(writes(), 0, 'what does not change is not written');
});

t.test('fewer pods only after the window', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([100, 100, 100]);
  await servers.start();
  t.match(servers.conditions, [
    /^AbleToScale True ScaleDownStabilized: recent recommendations were higher than current one, applying the highest recent/,
    /^ScalingActive True/,
    within,
  ]);
  await servers.harness.advance(300_000 - syncMs);
  t.same(servers.written, []);
  await servers.harness.advance(2 * syncMs);
  t.same(servers.written, [1]);
  t.same(servers.harness.events, ['Normal SuccessfulRescale web: New size: 1; reason: All metrics below target']);
});

t.test('another autoscaler of the same name has no past', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([100, 100, 100]);
  await servers.start({ downscaleStabilizationMs: 40_000 });
  servers.harness.api.remove(horizontalpodautoscalers, 'default/web');
  servers.addScaler();
  await servers.harness.advance(2 * syncMs);
  t.same(servers.written, []);
  await servers.harness.advance(3 * syncMs);
  t.same(servers.written, [1]);
});

t.test('without the API of metrics', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([500, 500, 500]);
  servers.answers.clear();
  await servers.start();
  const { resource } = servers.harness.dialect.metricsGroups;
  const message =
    'failed to get cpu utilization: unable to get metrics for resource cpu: ' +
    `unable to fetch metrics from resource metrics API: ${unserved} (get pods.${resource})`;
  t.same(servers.conditions, [
    found,
    `ScalingActive False FailedGetResourceMetric: the HPA was unable to compute the replica count: ${message}`,
  ]);
  t.same(servers.harness.events, [
    `Warning FailedGetResourceMetric web: ${message}`,
    `Warning FailedComputeMetricsReplicas web: invalid metrics (1 invalid out of 1), first error is: ${message}`,
  ]);
  t.match(servers.status, { currentReplicas: 3, desiredReplicas: 0 });
  servers.setPods([900, 900, 900]);
  await servers.harness.advance(syncMs);
  t.same(servers.written, [6], 'as soon as it is there');
});

const target = (type: string, amount: string) =>
  type === 'Value' ? { type, value: amount } : { type, averageValue: amount };
const metric = { name: 'qps', selector: { matchLabels: { verb: 'get' } } };
const values = (...amounts: string[]) => ({
  items: amounts.map((value, i) => ({
    describedObject: { name: `web-${i}` },
    timestamp: '1970-01-01T00:00:00Z',
    value,
  })),
});
const service = { apiVersion: 'v1', kind: 'Service', name: 'front' };

/** Metric, what is asked, its answer, then the size, the reason's metric and the status. */
const sources: readonly [string, MetricSpec, string, unknown, number, string, object][] = [
  [
    'a resource by its amount',
    { type: 'Resource', resource: { name: 'memory', target: target('AverageValue', '512Ki') } },
    'metrics v1beta1/namespaces/default/pods?labelSelector=app%3Dweb',
    undefined,
    6,
    'memory resource',
    { resource: { name: 'memory', current: { averageValue: '1048576' } } },
  ],
  [
    'one container',
    {
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'main', target: { type: 'Utilization', averageUtilization: 10 } },
    },
    'metrics v1beta1/namespaces/default/pods?labelSelector=app%3Dweb',
    undefined,
    6,
    byProcessor,
    {
      containerResource: { name: 'cpu', container: 'main', current: { averageUtilization: 30, averageValue: '300m' } },
    },
  ],
  [
    'pods',
    { type: 'Pods', pods: { metric, target: target('AverageValue', '10') } },
    'custom v1beta2/namespaces/default/pods/*/qps?labelSelector=app%3Dweb&metricLabelSelector=verb%3Dget',
    values('15', '20', '10'),
    5,
    'pods metric qps',
    { pods: { metric, current: { averageValue: '15' } } },
  ],
  [
    'an object',
    { type: 'Object', object: { describedObject: service, metric, target: target('Value', '10') } },
    'custom v1beta2/namespaces/default/services/front/qps?metricLabelSelector=verb%3Dget',
    values('15500m'),
    5,
    'Service metric qps',
    { object: { describedObject: service, metric, current: { value: '15500m' } } },
  ],
  [
    "an object's value for each pod",
    {
      type: 'Object',
      object: {
        describedObject: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'db' },
        metric: { name: 'qps' },
        target: target('AverageValue', '10'),
      },
    },
    'custom v1beta2/namespaces/default/deployments.apps/db/qps',
    values('41'),
    5,
    'external metric qps(nil)',
    { object: { metric: { name: 'qps' }, current: { averageValue: '13667m' } } },
  ],
  [
    'its namespace, whatever name it says',
    {
      type: 'Object',
      object: { describedObject: { kind: 'Namespace', name: 'other' }, metric, target: target('Value', '10') },
    },
    'custom v1beta2/namespaces/default/metrics/qps?metricLabelSelector=verb%3Dget',
    values('20'),
    6,
    'Namespace metric qps',
    { object: { metric, current: { value: '20' } } },
  ],
  [
    'something outside',
    { type: 'External', external: { metric, target: target('Value', '100') } },
    'external v1beta1/namespaces/default/qps?labelSelector=verb%3Dget',
    values('90', '70'),
    5,
    'external metric qps(&LabelSelector{MatchLabels:map[string]string{verb: get,},MatchExpressions:[]LabelSelectorRequirement{},})',
    { external: { metric, current: { value: '160' } } },
  ],
  [
    'something outside for each pod',
    { type: 'External', external: { metric: { name: 'queue' }, target: target('AverageValue', '30') } },
    'external v1beta1/namespaces/default/queue',
    values('100', '50'),
    5,
    'external metric queue(nil)',
    { external: { metric: { name: 'queue' }, current: { averageValue: '50' } } },
  ],
];

/** `custom v1beta2/…` in the words of the dialect. */
function pathOf({ harness }: FakeServers, text: string): string {
  const { resource, custom, external } = harness.dialect.metricsGroups;
  const group = text.startsWith('metrics ') ? resource : text.startsWith('custom ') ? custom : external;
  return `${group}/${text.slice(text.indexOf(' ') + 1)}`;
}

for (const [name, spec, path, answer, size, reason, status] of sources) {
  t.test(`by ${name}`, async (t) => {
    const servers = new FakeServers(t);
    servers.addScaler({ metrics: [spec] });
    servers.groups.push(servers.group(servers.harness.dialect.metricsGroups.custom, 'v1beta2', 'v1beta1'));
    servers.setPods([300, 300, 300]);
    if (answer !== undefined) servers.answers.set(pathOf(servers, path), answer);
    await servers.start();
    t.ok(servers.requests.includes(`GET /apis/${pathOf(servers, path)}`), 'what is asked for');
    t.same(servers.written, [size]);
    t.same(servers.harness.events, [`Normal SuccessfulRescale web: New size: ${size}; reason: ${reason} above target`]);
    t.match(servers.status?.currentMetrics, [{ type: spec.type, ...status }]);
  });
}

/** Metric, what its API answers, then reason, message, and the message among those of all. */
const failures: readonly [string, MetricSpec, readonly [string, unknown] | undefined, string, string, string?][] = [
  [
    'pods without the API',
    { type: 'Pods', pods: { metric, target: target('AverageValue', '10') } },
    undefined,
    'FailedGetPodsMetric',
    'unable to get metric qps: unable to fetch metrics from custom metrics API: no custom metrics API (CUSTOM) registered',
    'failed to get pods metric value: ',
  ],
  [
    'pods that nobody measures',
    { type: 'Pods', pods: { metric: { name: 'qps' }, target: target('AverageValue', '10') } },
    ['custom v1beta1/namespaces/default/pods/*/qps?labelSelector=app%3Dweb', { items: [] }],
    'FailedGetPodsMetric',
    'unable to get metric qps: no metrics returned from custom metrics API',
    'failed to get pods metric value: ',
  ],
  [
    'an object that nobody measures',
    {
      type: 'Object',
      object: { describedObject: service, metric: { name: 'qps' }, target: target('Value', '10') },
    },
    ['custom v1beta1/namespaces', undefined],
    'FailedGetObjectMetric',
    'unable to get metric qps: Service on default front/unable to fetch metrics from custom metrics API: ' +
      `${unserved} (get services.CUSTOM front)`,
    'failed to get object metric value: ',
  ],
  [
    'an object of no known kind',
    {
      type: 'Object',
      object: {
        describedObject: { apiVersion: 'apps/v1', kind: 'Turn', name: 'x' },
        metric: { name: 'qps' },
        target: target('AverageValue', '10'),
      },
    },
    ['custom v1beta1/namespaces', undefined],
    'FailedGetObjectMetric',
    'unable to get metric qps: Turn on default x/unable to fetch metrics from custom metrics API: ' +
      'unable to map kind Turn.apps to resource: no matches for kind "Turn" in group "apps"',
    'failed to get object metric value: failed to get qps object metric: ',
  ],
  [
    'two values where one was asked for',
    {
      type: 'Object',
      object: { describedObject: service, metric: { name: 'qps' }, target: target('Value', '10') },
    },
    ['custom v1beta1/namespaces/default/services/front/qps', values('1', '2')],
    'FailedGetObjectMetric',
    'unable to get metric qps: Service on default front/unable to fetch metrics from custom metrics API: ' +
      'the custom metrics API server returned 2 results when we asked for exactly one',
    'failed to get object metric value: ',
  ],
  [
    'something outside without the API',
    { type: 'External', external: { metric, target: target('Value', '100') } },
    undefined,
    'FailedGetExternalMetric',
    'unable to get external metric default/qps/' +
      '&LabelSelector{MatchLabels:map[string]string{verb: get,},MatchExpressions:[]LabelSelectorRequirement{},}: ' +
      `unable to fetch metrics from external metrics API: ${unserved} (get qps.EXTERNAL)`,
    'failed to get external metric qps: ',
  ],
  [
    'something outside that is not there',
    { type: 'External', external: { metric: { name: 'queue' }, target: target('AverageValue', '1') } },
    ['external v1beta1/namespaces/default/queue', { items: [] }],
    'FailedGetExternalMetric',
    'unable to get external metric default/queue/nil: no metrics returned from external metrics API',
    'failed to get queue external metric: ',
  ],
  [
    'a container that nobody measures',
    {
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'side', target: { type: 'Utilization', averageUtilization: 10 } },
    },
    undefined,
    'FailedGetContainerResourceMetric',
    'failed to get cpu utilization: did not receive metrics for any ready pods',
  ],
  ['an unknown type', { type: 'Moon' }, undefined, 'InvalidMetricSourceType', 'unknown metric source type "Moon"'],
];

for (const [name, spec, answer, reason, message, prefix = ''] of failures) {
  t.test(`fails: ${name}`, async (t) => {
    const servers = new FakeServers(t);
    const { custom, external } = servers.harness.dialect.metricsGroups;
    servers.addScaler({ metrics: [spec] });
    servers.setPods([300, 300, 300]);
    if (answer !== undefined) {
      servers.groups.push(servers.group(custom, 'v9', 'v1beta1'));
      if (answer[1] !== undefined) servers.answers.set(pathOf(servers, answer[0]), answer[1]);
    }
    await servers.start();
    const words = message.replaceAll('CUSTOM', custom).replaceAll('EXTERNAL', external);
    t.equal(
      servers.conditions[1],
      `ScalingActive False ${reason}: the HPA was unable to compute the replica count: ${words}`,
    );
    t.same(servers.harness.events, [
      `Warning ${reason} web: ${words}`,
      `Warning FailedComputeMetricsReplicas web: invalid metrics (1 invalid out of 1), first error is: ${prefix}${words}`,
    ]);
    t.same(servers.written, []);
  });
}

t.test('metrics that fail hold back nobody who needs more, and everybody who needs less', async (t) => {
  const servers = new FakeServers(t);
  const pods: MetricSpec = { type: 'Pods', pods: { metric, target: target('AverageValue', '10') } };
  servers.addScaler({ metrics: [pods, processor(50)] });
  servers.setPods([900, 900, 900]);
  await servers.start({ downscaleStabilizationMs: 0 });
  t.same(servers.written, [6]);
  t.match(servers.status?.currentMetrics, [{ type: '' }, { type: 'Resource' }]);
  t.match(servers.conditions[1], /^ScalingActive True ValidMetricFound/);
  servers.setPods([10, 10, 10, 10, 10, 10]);
  await servers.harness.advance(syncMs);
  t.same(servers.written, [6]);
  t.match(servers.conditions[1], /^ScalingActive False FailedGetPodsMetric/);
  t.match(servers.harness.events.at(-1), /FailedComputeMetricsReplicas web: invalid metrics \(1 invalid out of 2\)/);
  t.match(servers.status?.currentMetrics, [{ type: '' }, { type: 'Resource' }], 'what was seen before stays');
});

t.test('of several metrics the one that asks for most counts', async (t) => {
  const servers = new FakeServers(t);
  const memory: MetricSpec = {
    type: 'Resource',
    resource: { name: 'memory', target: target('AverageValue', '300Ki') },
  };
  servers.addScaler({ metrics: [processor(50), memory] });
  servers.setPods([600, 600, 600]);
  await servers.start();
  t.same(servers.written, [6], 'at most twice as many');
  t.match(servers.harness.events, [/New size: 6; reason: memory resource above target/]);
  t.match(servers.conditions[2], /^ScalingLimited True ScaleUpLimit: the desired replica count is increasing faster/);
});

const sizes: readonly [string, Partial<HorizontalPodAutoscalerSpec>, number, number[], string][] = [
  [
    'nothing, which somebody chose',
    {},
    0,
    [],
    'ScalingActive False ScalingDisabled: scaling is disabled since the replica count of the target is zero',
  ],
  ['too many', { maxReplicas: 4 }, 7, [4], 'Current number of replicas above Spec.MaxReplicas'],
  ['too few', { minReplicas: 5 }, 2, [5], 'Current number of replicas below Spec.MinReplicas'],
];

for (const [name, spec, replicas, written, words] of sizes) {
  t.test(`a size of ${name}`, async (t) => {
    const servers = new FakeServers(t);
    servers.addScaler(spec);
    servers.scale.replicas = replicas;
    await servers.start();
    t.same(servers.written, written);
    t.notOk(
      servers.requests.some((request) => request.includes('metrics')),
      'no metric is asked for',
    );
    t.match(servers.status, { currentReplicas: replicas, desiredReplicas: written[0] ?? 0 });
    const said = [...servers.conditions, ...servers.harness.events];
    t.ok(said.some((each) => each.includes(words)));
    t.equal(servers.status?.lastScaleTime !== undefined, written.length > 0);
  });
}

t.test('from nothing and to nothing, where that is allowed', async (t) => {
  const servers = new FakeServers(t);
  const external: MetricSpec = {
    type: 'External',
    external: { metric: { name: 'queue' }, target: target('AverageValue', '10') },
  };
  servers.addScaler({ minReplicas: 0, metrics: [external] });
  const answer = pathOf(servers, 'external v1beta1/namespaces/default/queue');
  Object.assign(servers.scale, { replicas: 0, status: { replicas: 0, selector: 'app=web' } });
  servers.answers.set(answer, values('25'));
  await servers.start({ downscaleStabilizationMs: 0 });
  t.same(servers.written, [3]);
  Object.assign(servers.scale.status, { replicas: 3 });
  servers.answers.set(answer, values('0'));
  await servers.harness.advance(syncMs);
  t.same(servers.written, [3, 0]);
});

const noTargets: readonly [string, HorizontalPodAutoscalerSpec['scaleTargetRef'], string][] = [
  [
    'an unknown kind',
    { apiVersion: 'apps/v1', kind: 'Turn', name: 'web' },
    'no matches for kind "Turn" in group "apps"',
  ],
  ['no group', { kind: 'Deployment', name: 'web' }, 'no matches for kind "Deployment" in group ""'],
  [
    'an unknown group',
    { apiVersion: 'a.b/v1', kind: 'Turn', name: 'web' },
    'no matches for kind "Turn" in group "a.b"',
  ],
  ['no version', { apiVersion: 'a/b/c', kind: 'Turn', name: 'web' }, 'unexpected GroupVersion string: a/b/c'],
  [
    'what is not there',
    { apiVersion: 'apps/v9', kind: 'Deployment', name: 'gone' },
    'deployments.apps "gone" not found',
  ],
  ['what cannot be scaled', { apiVersion: 'v1', kind: 'Service', name: 'web' }, unserved],
];

for (const [name, scaleTargetRef, message] of noTargets) {
  t.test(`a target that is ${name}`, async (t) => {
    const servers = new FakeServers(t);
    servers.addScaler({ scaleTargetRef });
    await servers.start();
    const words = `the HPA controller was unable to get the target's current scale: ${message}`;
    t.same(servers.conditions, [`AbleToScale False FailedGetScale: ${words}`]);
    t.same(servers.harness.events, [`Warning FailedGetScale web: ${message}`]);
  });
}

t.test('a scale that is none', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  const path = 'apps/v1/namespaces/default/deployments/web/scale';
  for (const scale of [{ spec: { replicas: -1 } }, { spec: { replicas: '3' } }, { status: { selector: ['a'] } }]) {
    servers.answers.set(path, scale);
    if (servers.requests.length === 0) await servers.start();
    else await servers.harness.advance(syncMs);
    t.match(servers.conditions, [/^AbleToScale False FailedGetScale: .*scale (are|is) no/]);
  }
});

for (const [name, selector, event, condition] of [
  [
    'no selector',
    undefined,
    'SelectorRequired web: selector is required',
    "the HPA target's scale is missing a selector",
  ],
  [
    'a selector that is none',
    'a in',
    /^Warning InvalidSelector web: couldn't convert selector into a corresponding internal selector object: /,
    /^ScalingActive False InvalidSelector: couldn't convert selector into/,
  ],
] as const) {
  t.test(`a target with ${name}`, async (t) => {
    const servers = new FakeServers(t);
    servers.addScaler();
    servers.scale.status = { replicas: 3, ...(selector === undefined ? {} : { selector }) };
    await servers.start();
    t.match(servers.harness.events, [event, /FailedComputeMetricsReplicas/]);
    t.match(servers.conditions, [found, condition]);
  });
}

t.test('a size that is refused', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([900, 900, 900]);
  const scale = 'apps/v1/namespaces/default/deployments/web/scale';
  const refusal = forbidden({ group: 'apps', resource: 'deployments/scale' }, 'web', 'no');
  servers.answers.set(`PUT ${scale}`, refusal);
  await servers.start();
  t.match(
    servers.conditions[0],
    `AbleToScale False FailedUpdateScale: the HPA controller was unable to update the target scale: ${refusal.message}`,
  );
  t.same(servers.harness.events, [
    `Warning FailedRescale web: New size: 6; reason: ${byProcessor} above target; error: ${refusal.message}`,
  ]);
  t.match(servers.status, { currentReplicas: 3, desiredReplicas: 0, lastScaleTime: undefined });
  servers.answers.delete(`PUT ${scale}`);
  await servers.harness.advance(syncMs);
  t.same(servers.written, [6]);
});

t.test('a change whose answer was lost counts', async (t) => {
  const servers = new FakeServers(t);
  const policies = [{ type: 'Pods', value: 2, periodSeconds: 60 }];
  servers.addScaler({ behavior: { scaleUp: { policies, selectPolicy: 'Max' }, scaleDown: { policies } } });
  servers.setPods([900, 900, 900]);
  const { client } = servers.context;
  let losing = true;
  const request: typeof client.request = async (method, path, body, options) => {
    const answer = await client.request(method, path, body, options);
    if (losing && method === 'PUT') throw serverTimeout({ group: 'apps', resource: 'deployments' }, 'update', 0);
    return answer as never;
  };
  await servers.harness.start(servers.controller({}, { ...servers.context, client: { ...client, request } }));
  await servers.harness.advance(syncMs);
  losing = false;
  t.same(servers.written, [5]);
  t.match(servers.harness.events, [/FailedRescale/]);
  servers.setPods([900, 900, 900, 900, 900]);
  await servers.harness.advance(3 * syncMs);
  t.same(servers.written, [5]);
  t.match(servers.conditions[2], /^ScalingLimited True ScaleUpLimit/);
  await servers.harness.advance(2 * syncMs);
  t.same(servers.written, [5, 7], 'a period later');
});

t.test('a status that cannot be written', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([500, 500, 500]);
  const refusal = forbidden({ group: 'autoscaling', resource: 'horizontalpodautoscalers/status' }, 'web', 'no');
  const heal = servers.harness.fail(({ subresource }) => subresource === 'status', refusal);
  await servers.start();
  t.same(servers.harness.events, [`Warning FailedUpdateStatus web: ${refusal.message}`]);
  heal();
  await servers.harness.advance(syncMs);
  t.equal(servers.conditions[0], readyForNew);
});

t.test('kinds are known for half a minute', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([500, 500, 500]);
  await servers.start({ syncPeriodMs: 5000 });
  const discoveries = () => servers.requests.filter((request) => request === 'GET /apis').length;
  t.equal(discoveries(), 1);
  await servers.harness.advance(25_000);
  t.equal(discoveries(), 1);
  await servers.harness.advance(10_000);
  t.equal(discoveries(), 2);
});

t.test('servers of metrics that hang or answer nonsense', async (t: Test) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([500, 500, 500]);
  const down = new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'service unavailable',
    code: 503,
  });
  const { resource } = servers.harness.dialect.metricsGroups;
  for (const [answer, words] of [
    [down, `the server is currently unable to handle the request (get pods.${resource})`],
    [{ items: 'many' }, 'items is not a list'],
    [{ items: [] }, 'no metrics returned from resource metrics API'],
    [7, 'answer is not an object'],
  ] as const) {
    servers.answers.set(servers.resourcePath, answer);
    if (servers.requests.length === 0) await servers.start();
    else await servers.harness.advance(syncMs);
    t.match(servers.conditions[1], new RegExp(`FailedGetResourceMetric: .*${words.replace(/[()]/g, '\\$&')}$`));
  }
});

t.test('the end of the work says nothing about metrics', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([500, 500, 500]);
  const { client } = servers.context;
  const request: typeof client.request = (method, path, body, options) => {
    if (!path.includes('metrics')) return client.request(method, path, body, options);
    // Hangs for as long as it may.
    return new Promise((_, reject) =>
      options?.signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
    );
  };
  await servers.harness.start(servers.controller({}, { ...servers.context, client: { ...client, request } }));
  await servers.harness.advance(syncMs);
  t.same(servers.conditions, []);
  await servers.harness.advance(30_000);
  t.match(servers.conditions[1], /unable to fetch metrics from resource metrics API: aborted$/, 'patience ends');
  const before = servers.harness.events.length;
  await servers.harness.advance(syncMs);
  await servers.harness.stop();
  t.equal(servers.harness.events.length, before);
});
