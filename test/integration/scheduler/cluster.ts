/** A cluster with a scheduler and a real API server (in process, store in memory), for nodes and pods of tests. */

import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { frozen } from '#client/testing/frozen.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { metricsText } from '#daemon/metrics/registry.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { schedulerMetrics } from '#scheduler/metrics/metrics.js';
import { Scheduler, type SchedulerOptions } from '#scheduler/scheduler.js';
import { startServer } from '#test/integration/apiserver/server.js';

const clock = realClock;
const random = Math.random;
const user = { name: 'tester', groups: [dialect.groups.masters] };

export interface Cluster {
  client: Client;
  node(name: string, more?: Partial<Node['spec']>, labels?: Record<string, string>): Promise<void>;
  pod(name: string, spec?: Partial<Pod['spec']>): Promise<void>;
  /** The scheduler's metrics page. */
  metrics(): Promise<string>;
  /** Resolves with the pod when it passes the check. */
  when(name: string, check: (pod: Pod) => boolean): Promise<Pod>;
}

export async function cluster(
  t: Test,
  more: Partial<Pick<SchedulerOptions, 'profiles' | 'extenders' | 'binder' | 'clock' | 'log'>> = {},
  gates = new FeatureGates(),
): Promise<Cluster> {
  const stop = new AbortController();
  const api = await startServer(t, {
    dialect,
    dependencies: { gate: (name) => gates.enabled(name as FeatureGateName) },
  });
  const client = new RestClient({ transport: new InProcessTransport({ handler: api.handler, user }), dialect, clock });
  await client.request('POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
  const informers = new SharedInformerFactory({ client, clock, random, log, transform: frozen });
  const recorder = new ApiEventRecorder({ client, source: { component: 'default-scheduler' }, clock, random, log });
  const registry = new Registry();
  const metrics = schedulerMetrics(registry);
  const scheduler = new Scheduler({ client, informers, recorder, dialect, clock, random, log, metrics, ...more });
  const informing = informers.start(stop.signal);
  const scheduling = scheduler.start(stop.signal);
  await scheduler.ready();
  t.teardown(async () => {
    await scheduler.close();
    await recorder.close();
    stop.abort();
    await Promise.all([scheduling, informing]);
    await client.close();
  });
  const api2 = client.resource(pods);
  let nodeCount = 0;
  return {
    client,
    metrics: () => metricsText(registry),
    async node(name, spec = {}, labels = {}) {
      const allocatable = { cpu: '2', memory: '1Gi', pods: '10' };
      const node: Node = { metadata: { name, labels }, spec, status: { capacity: allocatable, allocatable } };
      await client.resource(nodes).create(node);
      nodeCount += 1;
      // Wait for the node, since pods arrive over a different watch.
      const cachedNodes = async () =>
        Number(/cache_size\{type="nodes"\} (\d+)/.exec(await metricsText(registry))?.[1] ?? 0);
      while ((await cachedNodes()) < nodeCount) await clock.sleep(5);
    },
    async pod(name, spec = {}) {
      const containers = [{ name: 'c', image: 'i' }];
      await api2.create({ metadata: { name, namespace: 'default' }, spec: { containers, ...spec } });
    },
    async when(name, check) {
      const stopWatch = AbortSignal.timeout(60_000);
      const options = { namespace: 'default', fieldSelector: `metadata.name=${name}`, signal: stopWatch };
      for await (const { object } of api2.watch(options)) if (check(object)) return object;
      throw new Error(`${name} never passed the check`);
    },
  };
}
