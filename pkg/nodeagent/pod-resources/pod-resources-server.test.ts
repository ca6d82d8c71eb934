import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import protobuf from 'protobufjs';
import t, { type Test } from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { silentLogger } from '#daemon/log/logger.js';
import { GrpcChannel } from '#nodeagent/grpc/channel.js';
import { PodResourcesMetrics } from '#nodeagent/pod-resources/pod-resources-metrics.js';
import { PodResourcesServer } from '#nodeagent/pod-resources/pod-resources-server.js';
import { podResourcesV1 } from '#nodeagent/protocols/pod-resources-v1.gen.js';
import { podResourcesV1alpha1 } from '#nodeagent/protocols/pod-resources-v1alpha1.gen.js';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: [{ name: 'main', image: 'a' }], initContainers: [{ name: 'init', image: 'a' }] },
};
const devices = new Map([
  [
    'example.com/gpu',
    new Map([
      ['a', [0, 1]],
      ['b', undefined],
    ]),
  ],
]);
const memory = [{ type: 'hugepages-2Mi', bytes: 2 ** 40, nodes: [1] }];

async function setUp(t: Test, { servesAllocatable = true, dialect = orchDialect, fails = false } = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'pr-'));
  const socket = join(directory, 'pod-resources/kubelet.sock');
  const registry = new Registry();
  let refreshes = 0;
  const isPod = (uid: string, name: string) => uid === 'u' && name === 'main';
  const server = new PodResourcesServer({
    ...{
      socket,
      clock: realClock,
      log: silentLogger,
      servesAllocatable,
      metrics: new PodResourcesMetrics(registry, dialect),
    },
    pods: () => {
      if (fails) throw new Error('not now');
      return [pod];
    },
    refresh: () => {
      refreshes += 1;
    },
    held: {
      devices: (...of) => (isPod(...of) ? devices : new Map()),
      cpus: (...of) => (isPod(...of) ? [2, 3] : []),
      memory: (...of) => (isPod(...of) ? memory : []),
    },
    allocatable: { devices: () => devices, cpus: () => [1, 2, 3], memory: () => memory },
  });
  await server.start();
  const root = protobuf.Root.fromJSON(podResourcesV1);
  protobuf.Root.fromJSON(podResourcesV1alpha1, root);
  const channel = new GrpcChannel({ socket, root, timeoutMs: 10_000 });
  t.teardown(async () => {
    channel.close();
    await server.stop();
    await rm(directory, { recursive: true });
  });
  const counts = async () =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { call: (method: string) => channel.call(method, {}), counts, refreshes: () => refreshes };
}

const node = (ID: string) => ({ nodes: [{ ID }] });
const listed = [
  { resourceName: 'example.com/gpu', deviceIds: ['a'], topology: node('0') },
  { resourceName: 'example.com/gpu', deviceIds: ['a'], topology: node('1') },
  { resourceName: 'example.com/gpu', deviceIds: ['b'], topology: null },
];
const blocks = [{ memoryType: 'hugepages-2Mi', size: String(2 ** 40), topology: node('1') }];

t.test('devices, CPUs and memory of containers', async (t) => {
  const { call, refreshes } = await setUp(t);
  const main = { name: 'main', devices: listed, cpuIds: ['2', '3'], memory: blocks };
  const expected = { podResources: [{ name: 'web', namespace: 'default', containers: [main] }] };
  t.same(await call('v1.PodResourcesLister/List'), expected, 'without init containers, as in 1.24');
  t.equal(refreshes(), 1, 'after what ended pods hold is freed');
  const short = listed.map(({ resourceName, deviceIds }) => ({ resourceName, deviceIds }));
  const older = { name: 'main', devices: short };
  const pods = [{ name: 'web', namespace: 'default', containers: [older] }];
  t.same(await call('v1alpha1.PodResourcesLister/List'), { podResources: pods }, 'in the older version: devices only');
});

t.test('what containers could hold together, behind its gate', async (t) => {
  const { call } = await setUp(t);
  const expected = { devices: listed, cpuIds: ['1', '2', '3'], memory: blocks };
  t.same(await call('v1.PodResourcesLister/GetAllocatableResources'), expected, 'on');
  const off = await setUp(t, { servesAllocatable: false });
  const message = 'rpc error: code = Unknown desc = Pod Resources API GetAllocatableResources disabled';
  await t.rejects(off.call('v1.PodResourcesLister/GetAllocatableResources'), { message }, 'off');
  t.ok(
    (await off.counts()).includes('nodeagent_pod_resources_endpoint_errors_get_allocatable{server_api_version="v1"} 1'),
    'and counted',
  );
});

t.test('requests are counted with the names of 1.24', async (t) => {
  for (const [dialect, name] of [
    [orchDialect, 'nodeagent'],
    [kubernetesDialect, 'kubelet'],
  ] as const) {
    const { call, counts } = await setUp(t, { dialect });
    await call('v1.PodResourcesLister/List');
    await call('v1.PodResourcesLister/GetAllocatableResources');
    await call('v1alpha1.PodResourcesLister/List');
    t.same(
      (await counts()).sort(),
      [
        `${name}_pod_resources_endpoint_requests_get_allocatable{server_api_version="v1"} 1`,
        `${name}_pod_resources_endpoint_requests_list{server_api_version="v1"} 1`,
        `${name}_pod_resources_endpoint_requests_total{server_api_version="v1"} 3`,
        `${name}_pod_resources_endpoint_requests_total{server_api_version="v1alpha1"} 1`,
      ],
      name,
    );
  }
  const { call, counts } = await setUp(t, { fails: true });
  await t.rejects(call('v1.PodResourcesLister/List'), /not now/, 'a failure');
  t.ok((await counts()).includes('nodeagent_pod_resources_endpoint_errors_list{server_api_version="v1"} 1'), 'counted');
});
