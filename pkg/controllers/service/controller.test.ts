import t, { type Test } from 'tap';
import { nodes, services } from '#api/core/v1/resources.gen.js';
import type { LoadBalancerStatus, Node, Service, ServiceSpec } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { conflict } from '#apimachinery/errors/status.js';
import { takesBalancedTraffic } from '#cloud/provider/load-balancing.js';
import type { LoadBalancers } from '#cloud/provider/provider.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { changeOf, ServiceController } from '#controllers/service/controller.js';

const finalizer = 'service.orch.io/load-balancer-cleanup';
const key = 'n/web';

/** A fake provider that can fail on request. */
class Balancers implements LoadBalancers {
  readonly calls: string[] = [];
  readonly balancers = new Map<string, LoadBalancerStatus>();
  failing: string | undefined;

  async get(_: string, { metadata }: Service) {
    return this.balancers.get(metadata.uid ?? '');
  }

  async ensure(cluster: string, { metadata }: Service, hosts: readonly Node[]) {
    this.#call(`ensure ${cluster}`, hosts);
    if (metadata.annotations?.['note'] === undefined) {
      return { kind: 'annotate' as const, annotations: { note: 'x', old: undefined } };
    }
    const status = { ingress: [{ ip: '192.0.2.1' }] };
    this.balancers.set(metadata.uid ?? '', status);
    return { kind: 'ready' as const, status };
  }

  async update(_: string, __: Service, hosts: readonly Node[]) {
    this.#call('update', hosts);
  }

  async ensureDeleted(_: string, { metadata }: Service) {
    this.#call('delete');
    this.balancers.delete(metadata.uid ?? '');
    return { note: undefined };
  }

  #call(what: string, hosts: readonly Node[] = []) {
    this.calls.push([what, ...hosts.map(({ metadata }) => metadata.name)].join(' '));
    if (this.failing !== undefined) throw new Error(this.failing);
  }
}

function node(name: string, status = 'True', rest: Partial<Node['metadata']> = {}): Node {
  return { metadata: { name, ...rest }, spec: {}, status: { conditions: [{ type: 'Ready', status }] } };
}

function service(spec: Partial<ServiceSpec> = {}): Service {
  return {
    metadata: { name: 'web', namespace: 'n', uid: 'u', annotations: { old: 'x' } },
    spec: { type: 'LoadBalancer', ports: [{ port: 80, targetPort: 80 }], ...spec },
  };
}

async function start(t: Test, ...given: Service[]) {
  const harness = new Harness(t, [services, nodes]);
  const balancers = new Balancers();
  harness.api.seed(nodes, node('a'));
  for (const each of given) harness.api.seed(services, each);
  const options = { balancers: () => balancers, cluster: 'c', concurrency: 1 };
  await harness.start(new ServiceController(harness.context, options));
  await harness.advance(1000);
  const edit = async (change: (service: Draft<Service>) => void) => {
    harness.api.change<Service>(services, key, change);
    await harness.advance(1000);
  };
  return { harness, balancers, edit, now: () => harness.api.get(services, key) };
}

t.test('a load balancer is created and deleted', async (t) => {
  const { harness, balancers, edit, now } = await start(t, service());
  t.match(now(), {
    metadata: { finalizers: [finalizer], annotations: { note: 'x', old: undefined } },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
  });
  // The first node sync may run before a load balancer exists.
  t.same(
    harness.events.splice(0).filter((event) => !event.includes('Updated')),
    [
      'Normal EnsuringLoadBalancer web: Ensuring load balancer',
      'Normal EnsuredLoadBalancer web: Ensured load balancer',
    ],
  );
  await edit(({ spec }) => {
    spec.loadBalancerIP = '192.0.2.1';
  });
  t.same(harness.events.splice(0), [
    'Normal LoadbalancerIP web:  -> 192.0.2.1',
    'Normal EnsuringLoadBalancer web: Ensuring load balancer',
    'Normal EnsuredLoadBalancer web: Ensured load balancer',
  ]);
  await edit(({ spec }) => {
    spec.type = 'ClusterIP';
  });
  t.same(harness.events.splice(0), [
    'Normal Type web: LoadBalancer -> ClusterIP',
    'Normal DeletingLoadBalancer web: Deleting load balancer',
    'Normal DeletedLoadBalancer web: Deleted load balancer',
  ]);
  t.same(now()?.metadata.finalizers, []);
  t.same(now()?.metadata.annotations, {});
  t.same(now()?.status?.loadBalancer, {});
  await edit(({ spec }) => {
    spec.type = 'LoadBalancer';
  });
  harness.events.splice(0);
  await edit(({ metadata }) => {
    metadata.deletionTimestamp = formatTime(harness.clock.now());
  });
  t.equal(now(), undefined, 'the service is released after its load balancer');
  t.same(harness.events, [
    'Normal DeletingLoadBalancer web: Deleting load balancer',
    'Normal DeletedLoadBalancer web: Deleted load balancer',
  ]);
  t.equal(balancers.balancers.size, 0);
});

t.test('other services are ignored', async (t) => {
  const { harness, balancers, now } = await start(t, service({ loadBalancerClass: 'x.io/y' }));
  t.equal(now()?.metadata.finalizers, undefined);
  t.same([harness.events, balancers.calls], [[], []]);
});

t.test('failures are recorded, and retried with growing pauses', async (t) => {
  const { harness, balancers, now } = await start(t);
  balancers.failing = 'broken';
  harness.api.seed(services, service());
  await harness.advance(0);
  const failures = () => harness.events.splice(0).filter((event) => event.includes('Sync'));
  const failure =
    'Warning SyncLoadBalancerFailed web: Error syncing load balancer: failed to ensure load balancer: broken';
  t.same(failures(), [failure]);
  for (const ms of [5000, 10_000, 20_000]) {
    await harness.advance(ms - 1);
    t.same(failures(), []);
    await harness.advance(1);
    t.same(failures(), [failure]);
  }
  balancers.failing = undefined;
  const heal = harness.fail(
    (call) => call.verb === 'update',
    conflict({ group: '', resource: 'services' }, 'web', 'x'),
  );
  await harness.advance(300_000);
  t.same(failures(), [], 'a conflict is not a failure');
  heal();
  await harness.advance(1000);
  t.match(now()?.status?.loadBalancer?.ingress, [{ ip: '192.0.2.1' }]);
});

t.test('load balancers follow nodes', async (t) => {
  const { harness, balancers } = await start(t, service());
  const calls = async () => {
    await harness.advance(1000);
    return balancers.calls.splice(0);
  };
  await calls();
  harness.events.splice(0);
  harness.api.seed(nodes, node('b'));
  t.same(await calls(), ['update a b']);
  harness.api.change<Node>(nodes, 'b', (each) => {
    each.metadata.annotations = { other: 'x' };
  });
  t.same(await calls(), []);
  balancers.failing = 'broken';
  harness.api.change<Node>(nodes, 'b', (each) => {
    each.status = { conditions: [{ type: 'Ready', status: 'Unknown' }] };
  });
  t.same(await calls(), ['update a']);
  t.match(harness.events.splice(0), [
    'Normal UpdatedLoadBalancer web: Updated load balancer with new hosts',
    'Warning UpdateLoadBalancerFailed web: Error updating load balancer with new hosts map[a:{}]: broken',
  ]);
  balancers.failing = undefined;
  await harness.advance(100_000);
  t.same(await calls(), ['update a'], 'a failed update is retried');
  harness.api.remove(nodes, 'a');
  t.same(await calls(), ['update']);
  t.same(harness.events.slice(-1), [
    'Warning UnAvailableLoadBalancer web: There are no available nodes for LoadBalancer',
  ]);
});

t.test('a service that is deleted without its finalizer is cleaned up', async (t) => {
  const { harness, balancers } = await start(t, service());
  harness.api.remove(services, key);
  await harness.advance(1000);
  t.equal(balancers.balancers.size, 0);
});

t.test('ready nodes receive traffic unless excluded', async (t) => {
  const { dialect } = new Harness(t, []);
  const label = { labels: { [dialect.labels.excludeBalancers]: '' } };
  const tainted: Node = {
    ...node('x'),
    spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] },
  };
  const rows: [Node, boolean][] = [
    [node('x'), true],
    [node('x', 'False'), false],
    [node('x', 'True', label), false],
    [tainted, false],
    [{ ...node('x'), status: {} }, false],
    [{ ...node('x'), status: { conditions: [{ type: 'Other', status: 'False' }] } }, true],
  ];
  for (const [given, want] of rows) t.equal(takesBalancedTraffic(dialect, given), want);
});

t.test('changes that affect load balancers have events', async (t) => {
  const event = (reason: string, message: string) => ({ event: [reason, message] });
  const rows: [Partial<ServiceSpec>, Partial<ServiceSpec>, object | undefined][] = [
    [{}, {}, undefined],
    [{ type: 'ClusterIP' }, { type: 'NodePort' }, undefined],
    [{ type: 'ClusterIP' }, {}, event('Type', 'ClusterIP -> LoadBalancer')],
    [{}, { loadBalancerSourceRanges: ['a', 'b'] }, event('LoadBalancerSourceRanges', '[] -> [a b]')],
    [{}, { ports: [{ port: 81, targetPort: 80 }] }, {}],
    [{}, { ports: [{ port: 80, targetPort: 80, appProtocol: 'x' }] }, undefined],
    [{ sessionAffinity: 'None' }, { sessionAffinity: 'ClientIP' }, {}],
    [{}, { sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } } }, {}],
    [{ loadBalancerIP: 'a' }, {}, event('LoadbalancerIP', 'a -> ')],
    [{}, { externalIPs: ['a'] }, event('ExternalIP', 'Count: 0 -> 1')],
    [{ externalIPs: ['a'] }, { externalIPs: ['b'] }, event('ExternalIP', 'Added: b')],
    [
      { externalTrafficPolicy: 'Local' },
      { externalTrafficPolicy: 'Cluster' },
      event('ExternalTrafficPolicy', 'Local -> Cluster'),
    ],
    [{ healthCheckNodePort: 1 }, { healthCheckNodePort: 2 }, event('HealthCheckNodePort', '1 -> 2')],
    [{ ipFamilies: ['IPv4'] }, { ipFamilies: ['IPv4', 'IPv6'] }, event('IPFamilies', 'Count: 1 -> 2')],
  ];
  for (const [old, spec, want] of rows) t.same(changeOf(service(old), service(spec)), want, JSON.stringify(spec));
  const other = service();
  t.same(changeOf(service(), { ...other, metadata: { ...other.metadata, annotations: {} } }), {});
  t.same(changeOf(service(), { ...other, metadata: { ...other.metadata, uid: 'v' } }), event('UID', 'u -> v'));
});
