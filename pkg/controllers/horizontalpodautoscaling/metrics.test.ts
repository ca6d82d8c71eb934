/** Every metric source: the request, the decision from the response, and the messages of failures. */
import t from 'tap';
import type { MetricSpec } from '#api/autoscaling/v2/types.gen.js';
import { StatusError } from '#apimachinery/errors/status.js';
import { FakeServers, processor, syncMs } from '#controllers/horizontalpodautoscaling/testing/fake-servers.js';

const unserved = 'the server could not find the requested resource';
const byProcessor = 'cpu resource utilization (percentage of request)';

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

/** Metric, request, response, then the size, the metric's name in the reason, and the status. */
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
    'its namespace, regardless of the name in the spec',
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
    'an external metric',
    { type: 'External', external: { metric, target: target('Value', '100') } },
    'external v1beta1/namespaces/default/qps?labelSelector=verb%3Dget',
    values('90', '70'),
    5,
    'external metric qps(&LabelSelector{MatchLabels:map[string]string{verb: get,},MatchExpressions:[]LabelSelectorRequirement{},})',
    { external: { metric, current: { value: '160' } } },
  ],
  [
    'an external metric per pod',
    { type: 'External', external: { metric: { name: 'queue' }, target: target('AverageValue', '30') } },
    'external v1beta1/namespaces/default/queue',
    values('100', '50'),
    5,
    'external metric queue(nil)',
    { external: { metric: { name: 'queue' }, current: { averageValue: '50' } } },
  ],
];

/** `custom v1beta2/…` with the dialect's group. */
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
    t.ok(servers.requests.includes(`GET /apis/${pathOf(servers, path)}`), 'the request');
    t.same(servers.written, [size]);
    t.same(servers.harness.events, [`Normal SuccessfulRescale web: New size: ${size}; reason: ${reason} above target`]);
    t.match(servers.status?.currentMetrics, [{ type: spec.type, ...status }]);
  });
}

/** Metric, response, then reason, message, and the message in the summary. */
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
    'pods without measurements',
    { type: 'Pods', pods: { metric: { name: 'qps' }, target: target('AverageValue', '10') } },
    ['custom v1beta1/namespaces/default/pods/*/qps?labelSelector=app%3Dweb', { items: [] }],
    'FailedGetPodsMetric',
    'unable to get metric qps: no metrics returned from custom metrics API',
    'failed to get pods metric value: ',
  ],
  [
    'an object without measurements',
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
    'an object of an unknown kind',
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
    'two values instead of one',
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
    'an external metric without the API',
    { type: 'External', external: { metric, target: target('Value', '100') } },
    undefined,
    'FailedGetExternalMetric',
    'unable to get external metric default/qps/' +
      '&LabelSelector{MatchLabels:map[string]string{verb: get,},MatchExpressions:[]LabelSelectorRequirement{},}: ' +
      `unable to fetch metrics from external metrics API: ${unserved}`,
    'failed to get external metric qps: ',
  ],
  [
    'an external metric that does not exist',
    { type: 'External', external: { metric: { name: 'queue' }, target: target('AverageValue', '1') } },
    ['external v1beta1/namespaces/default/queue', { items: [] }],
    'FailedGetExternalMetric',
    'unable to get external metric default/queue/nil: no metrics returned from external metrics API',
    'failed to get queue external metric: ',
  ],
  [
    'a container without measurements',
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

t.test('a failed metric prevents scaling down but not scaling up', async (t) => {
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
  t.match(servers.status?.currentMetrics, [{ type: '' }, { type: 'Resource' }], 'earlier metrics stay');
});

t.test('the metric with the highest result counts', async (t) => {
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

t.test('an external metric scales from zero and back', async (t) => {
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

t.test('metrics servers that hang or send malformed responses cause failures', async (t) => {
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
    [7, 'response is not an object'],
  ] as const) {
    servers.answers.set(servers.resourcePath, answer);
    if (servers.requests.length === 0) await servers.start();
    else await servers.harness.advance(syncMs);
    t.match(servers.conditions[1], new RegExp(`FailedGetResourceMetric: .*${words.replace(/[()]/g, '\\$&')}$`));
  }
});
