/** Autoscalers with the rights of their service account, against a real API server. */

import t, { type Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { horizontalpodautoscalers as v1 } from '#api/autoscaling/v1/resources.gen.js';
import { horizontalpodautoscalers as v2 } from '#api/autoscaling/v2/resources.gen.js';
import type { HorizontalPodAutoscaler, MetricSpec } from '#api/autoscaling/v2/types.gen.js';
import { events, namespaces, pods } from '#api/core/v1/resources.gen.js';
import type { APIGroup, APIGroupList } from '#api/meta/v1/types.gen.js';
import { realClock as clock, formatTime } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { serviceAccountUser } from '#apiserver/serviceaccount/claims.js';
import {
  type InProcessHandler,
  type InProcessRequest,
  type InProcessResponse,
  InProcessTransport,
} from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import { RestClient } from '#client/rest/rest-client.js';
import { serviceAccountOf } from '#controllers/options/names.js';
import { runManager, runPods, until } from '#test/integration/controllers/cluster.js';
import { startEtcdStore } from '#test/integration/controllers/cluster-store.js';
import { startApi } from '#test/integration/daemons/api.js';

/** Serves API groups in front of an API server, as aggregated servers would. */

type Answer = (request: InProcessRequest) => object | Promise<object>;

export interface GroupServer {
  /** By the beginning of path and query below `/apis/`; the first match responds. */
  readonly answers: Map<string, Answer>;
  /** Added to discovery. */
  readonly groups: APIGroup[];
  readonly handler: InProcessHandler;
}

/** Responds only where the server returns 404, so that the server authorizes all requests. */
function groupServer(next: InProcessHandler): GroupServer {
  const answers = new Map<string, Answer>();
  const groups: APIGroup[] = [];
  const handler = async (request: InProcessRequest): Promise<InProcessResponse> => {
    const response = await next(request);
    if (request.url === '/apis' && groups.length > 0 && response.status === 200) {
      const { body } = response;
      const bytes = body === undefined || Buffer.isBuffer(body) ? body : await readAll(body);
      const list = JSON.parse(String(bytes)) as APIGroupList;
      return json({ ...list, groups: [...list.groups, ...groups] });
    }
    if (response.status !== 404) return response;
    for (const [path, answer] of answers)
      if (request.url.startsWith(`/apis/${path}`)) return json(await answer(request));
    return response;
  };
  return { answers, groups, handler };
}

function json(value: object): InProcessResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}

const namespace = 'shop';
const where = { namespace };
const labels = { app: 'web' };

t.setTimeout(180_000);

async function setUp(t: Test, dialect: Dialect) {
  // This server provides the pod metrics.
  const args = [`--runtime-config=${dialect.metricsGroups.resource}/v1beta1=false`];
  const { api, client } = await startApi(t, { dialect, args, ...(await startEtcdStore(t)) });
  const front = groupServer(api.handler);
  const clientFor = (controller: string) => {
    const name = serviceAccountUser(dialect.namespaces.system, serviceAccountOf(controller));
    const groups = [dialect.groups.serviceAccounts, dialect.groups.authenticated];
    const transport = new InProcessTransport({ handler: front.handler, user: { name, groups } });
    const own = new RestClient({ transport, dialect, clock });
    t.teardown(() => own.close());
    return own;
  };
  await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  await runManager(t, {
    client,
    clientFor,
    dialect,
    controllers: ['deployment', 'horizontalpodautoscaling', 'replicaset', 'serviceaccount'],
    values: {
      'horizontal-pod-autoscaler-sync-period': 100,
      'horizontal-pod-autoscaler-downscale-stabilization': 0,
      'horizontal-pod-autoscaler-cpu-initialization-period': 0,
      'horizontal-pod-autoscaler-initial-readiness-delay': 0,
    },
  });
  runPods(t, client);
  const scaler = (name: string) => () => client.resource(v2).get(name, where);
  return { client, front, scaler };
}

const condition = (type: string, reason: string) => (scaler: HorizontalPodAutoscaler) =>
  scaler.status?.conditions?.some((each) => each.type === type && each.reason === reason) ?? false;

function groupOf(name: string, version: string): APIGroup {
  const only = { groupVersion: `${name}/${version}`, version };
  return { name, versions: [only], preferredVersion: only };
}

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name} dialect`, { timeout: 120_000 }, async (t) => {
    const { client, front, scaler } = await setUp(t, dialect);
    const { resource, custom, external } = dialect.metricsGroups;
    const size = async () => (await client.resource(deployments).get('web', where)).spec.replicas;
    const reasons = async () => {
      const { items } = await client.resource(events).list(where);
      return items.map(({ reason, message }) => `${reason}: ${message}`);
    };

    const value = (amount: string) => ({ timestamp: formatTime(clock.now()), value: amount });
    const queue = (averageValue: string): MetricSpec => ({
      type: 'External',
      external: { metric: { name: 'queue' }, target: { type: 'AverageValue', averageValue } },
    });
    front.answers.set(`${external}/v1beta1/namespaces/${namespace}/queue`, () => ({
      items: [value('15'), value('14')],
    }));
    // Added at the start, because discovery is cached for 30 seconds.
    front.groups.push(groupOf(custom, 'v1beta1'));

    front.groups.push(groupOf('example.com', 'v1'));

    await t.test('kinds of aggregated servers', async (t) => {
      let replicas = 2;
      front.answers.set(`example.com/v1/namespaces/${namespace}/rings/one/scale`, ({ method, body }) => {
        if (method === 'PUT') ({ replicas } = (JSON.parse(body.toString()) as { spec: { replicas: number } }).spec);
        const scale = { apiVersion: dialect.apiVersion('autoscaling', 'v1'), kind: 'Scale', metadata: { name: 'one' } };
        return { ...scale, spec: { replicas }, status: { replicas, selector: 'app=ring' } };
      });
      front.answers.set('example.com/v1', () => ({ resources: [{ name: 'rings', kind: 'Ring', namespaced: true }] }));
      await client.resource(v2).create({
        metadata: { name: 'ring', namespace },
        spec: {
          scaleTargetRef: { apiVersion: 'example.com/v1', kind: 'Ring', name: 'one' },
          maxReplicas: 9,
          metrics: [queue('5')],
        },
      });
      const { status } = await until('it grows', scaler('ring'), (each) => each.status?.currentReplicas === 6);
      t.match(status?.currentMetrics, [{ external: { current: { averageValue: '4834m' } } }]);
    });

    await t.test('by CPU, in version 1', async (t) => {
      const containers = [{ name: 'main', image: 'sleeps', resources: { requests: { cpu: '100m' } } }];
      await client.resource(deployments).create({
        metadata: { name: 'web', namespace },
        spec: {
          replicas: 1,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
        },
      });
      await client.resource(v1).create({
        metadata: { name: 'web', namespace },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          maxReplicas: 5,
          targetCPUUtilizationPercentage: 50,
        },
      });
      const without = await until(
        'it has no metrics',
        scaler('web'),
        condition('ScalingActive', 'FailedGetResourceMetric'),
      );
      t.match(
        without.status?.conditions?.find(({ type }) => type === 'ScalingActive')?.message,
        `the server could not find the requested resource (get pods.${resource})`,
      );
      let use = '100m';
      front.answers.set(`${resource}/v1beta1/namespaces/${namespace}/pods?labelSelector=app%3Dweb`, async () => {
        const { items } = await client.resource(pods).list({ ...where, labelSelector: 'app=web' });
        return {
          kind: 'PodMetricsList',
          items: items.map(({ metadata: { name } }) => ({
            metadata: { name, namespace },
            timestamp: formatTime(clock.now()),
            window: '15s',
            containers: [{ name: 'main', usage: { cpu: use } }],
          })),
        };
      });
      await until('there are as many as may be', size, (replicas) => replicas === 5);
      await until('it says that', scaler('web'), condition('ScalingLimited', 'TooManyReplicas'));
      const old = () => client.resource(v1).get('web', where);
      const { status } = await until('it has seen them', old, (each) => each.status?.currentReplicas === 5);
      t.match(status, { desiredReplicas: 5, currentCPUUtilizationPercentage: 100 });
      use = '1m';
      await until('one is enough', size, (replicas) => replicas === 1);
      const said = await until('events say so', reasons, (all) =>
        all.some((each) => each.includes('New size: 1; reason: All metrics below target')),
      );
      const above = 'reason: cpu resource utilization (percentage of request) above target';
      t.ok(said.some((each) => each.startsWith('SuccessfulRescale: New size: ') && each.endsWith(above)));
      t.ok(said.some((each) => each.startsWith('FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1)')));
    });

    await t.test('by metrics of aggregated servers', async (t) => {
      const object: MetricSpec = {
        type: 'Object',
        object: {
          describedObject: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          metric: { name: 'qps' },
          target: { type: 'AverageValue', averageValue: '10' },
        },
      };
      await client
        .resource(v2)
        .patch('web', { spec: { metrics: [object, queue('10')] } }, { type: 'merge', namespace });
      await until('the queue is shared', size, (replicas) => replicas === 3);
      const half = await until('one metric fails', scaler('web'), ({ status }) => status?.currentMetrics?.length === 2);
      t.match(half.status?.currentMetrics, [{ type: '' }, { type: 'External' }]);
      const path = `${custom}/v1beta1/namespaces/${namespace}/deployments.apps/web/qps`;
      front.answers.set(path, () => ({ items: [{ describedObject: { name: 'web' }, ...value('41') }] }));
      await until('the object asks for more', size, (replicas) => replicas === 5);
    });
  });
}
