import t from 'tap';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import type { HorizontalPodAutoscalerSpec } from '#api/autoscaling/v2/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { forbidden, serverTimeout } from '#apimachinery/errors/status.js';
import { FakeServers, syncMs } from '#controllers/horizontalpodautoscaling/testing/fake-servers.js';

const unserved = 'the server could not find the requested resource';
const scaleRead = "AbleToScale True SucceededGetScale: the HPA controller was able to get the target's current scale";
const readyForNew = 'AbleToScale True ReadyForNewScale: recommended size matches current size';
const within = 'ScalingLimited False DesiredWithinRange: the desired count is within the acceptable range';
const byProcessor = 'cpu resource utilization (percentage of request)';

t.test('busy pods cause scaling up, with conditions and events', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([500, 700, 900]);
  await servers.harness.start(servers.controller());
  t.same(servers.requests, [], 'the first reconcile is after a period');
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
  t.equal(writes(), 0, 'an unchanged status is not written');
});

t.test('scaling down waits for the stabilization window', async (t) => {
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

t.test('a new autoscaler with the same name has no history', async (t) => {
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

t.test('a missing metrics API is reported and retried', async (t) => {
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
    scaleRead,
    `ScalingActive False FailedGetResourceMetric: the HPA was unable to compute the replica count: ${message}`,
  ]);
  t.same(servers.harness.events, [
    `Warning FailedGetResourceMetric web: ${message}`,
    `Warning FailedComputeMetricsReplicas web: invalid metrics (1 invalid out of 1), first error is: ${message}`,
  ]);
  t.match(servers.status, { currentReplicas: 3, desiredReplicas: 0 });
  servers.setPods([900, 900, 900]);
  await servers.harness.advance(syncMs);
  t.same(servers.written, [6], 'once the API is available');
});

const sizes: readonly [string, Partial<HorizontalPodAutoscalerSpec>, number, number[], string][] = [
  [
    'zero set by a user',
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
      'no metric is requested',
    );
    t.match(servers.status, { currentReplicas: replicas, desiredReplicas: written[0] ?? 0 });
    const said = [...servers.conditions, ...servers.harness.events];
    t.ok(said.some((each) => each.includes(words)));
    t.equal(servers.status?.lastScaleTime !== undefined, written.length > 0);
  });
}

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
  ['missing', { apiVersion: 'apps/v9', kind: 'Deployment', name: 'gone' }, 'deployments.apps "gone" not found'],
  ['not scalable', { apiVersion: 'v1', kind: 'Service', name: 'web' }, unserved],
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

t.test('a malformed scale is reported', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  const path = 'apps/v1/namespaces/default/deployments/web/scale';
  for (const scale of [{ spec: { replicas: -1 } }, { spec: { replicas: '3' } }, { status: { selector: ['a'] } }]) {
    servers.answers.set(path, scale);
    if (servers.requests.length === 0) await servers.start();
    else await servers.harness.advance(syncMs);
    t.match(servers.conditions, [/^AbleToScale False FailedGetScale: .*the scale has/]);
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
    'a malformed selector',
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
    t.match(servers.conditions, [scaleRead, condition]);
  });
}

t.test('a rejected resize is reported and retried', async (t) => {
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

t.test('a resize with a lost response counts', async (t) => {
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

t.test('a failed write of the status is reported and retried', async (t) => {
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

t.test('discovery is cached for 30 seconds', async (t) => {
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

t.test('a shutdown causes no metrics failure', async (t) => {
  const servers = new FakeServers(t);
  servers.addScaler();
  servers.setPods([500, 500, 500]);
  const { client } = servers.context;
  const request: typeof client.request = (method, path, body, options) => {
    if (!path.includes('metrics')) return client.request(method, path, body, options);
    // Hangs until the timeout.
    return new Promise((_, reject) =>
      options?.signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
    );
  };
  await servers.harness.start(servers.controller({}, { ...servers.context, client: { ...client, request } }));
  await servers.harness.advance(syncMs);
  t.same(servers.conditions, []);
  await servers.harness.advance(30_000);
  t.match(
    servers.conditions[1],
    /unable to fetch metrics from resource metrics API: aborted$/,
    'the request times out',
  );
  const before = servers.harness.events.length;
  await servers.harness.advance(syncMs);
  await servers.harness.stop();
  t.equal(servers.harness.events.length, before);
});
