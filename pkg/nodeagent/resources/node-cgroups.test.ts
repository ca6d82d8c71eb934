import t, { type Test } from 'tap';
import type { Pod, ResourceRequirements } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { NodeEvent } from '#nodeagent/node/node-events.js';
import type { CgroupVersion } from '#nodeagent/resources/cgroup-settings.js';
import { CgroupTree } from '#nodeagent/resources/cgroup-tree.js';
import { PodCgroups } from '#nodeagent/resources/cgroups.js';
import { NodeCgroups, type NodeCgroupsOptions } from '#nodeagent/resources/node-cgroups.js';
import { FakeCgroupFiles } from '#nodeagent/resources/testing/fake-cgroup-files.js';

const mi = 2 ** 20;
const quota = { enforced: true, periodMicros: 100_000 };

function pod(uid: string, resources: ResourceRequirements = {}): Pod {
  return { metadata: { name: uid, uid }, spec: { containers: [{ name: 'main', resources }] } };
}

const both = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });

function fixture(t: Test, version: CgroupVersion, more: Partial<NodeCgroupsOptions> = {}) {
  const clock = new VirtualClock();
  const files = new FakeCgroupFiles(version);
  const events: NodeEvent[] = [];
  const pods: Pod[] = [];
  const refused: string[] = [];
  const operations: string[] = [];
  const tree = new CgroupTree({ files, clock, mountPoint: '/cg', version, pageSizes: [2 * mi] });
  const node = new NodeCgroups({
    ...{ tree, clock, log: silentLogger, root: '/own', path: '/own/orchpods', memoryQoS: false },
    events: { record: (event) => events.push(event) },
    capacity: async () => ({ cpus: 4, memoryBytes: 4096 * mi, hugePages: { [2 * mi]: 64 * mi }, pids: 1000 }),
    reserved: [{ cpu: '1', memory: '1Gi', pid: '100' }],
    enforced: [],
    pods: () => pods,
    ...more,
  });
  const cgroups = new PodCgroups({
    ...{ tree, path: '/own/orchpods', quota, pidsLimit: 50, memoryQoS: more.memoryQoS ?? false },
    onChange: () => node.update(),
    onOperation: (operation) => operations.push(operation),
    clock,
    onRejected: (path) => refused.push(path),
  });
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  return { clock, files, events, pods, refused, tree, node, cgroups, signal: stop.signal };
}

t.test('version 1: cgroups of all pods, the classes and each pod', async (t) => {
  const { clock, files, events, pods, node, cgroups, signal } = fixture(t, 1);
  await t.rejects(node.start(), {
    message: /^invalid configuration: cgroup \["own"\] has some missing paths: \/cg\/cpu\/own, \/cg\/memory\/own, /,
  });
  for (const controller of ['cpu', 'memory', 'pids', 'hugetlb']) await files.make(`/cg/${controller}/own`);
  await node.start();
  void node.run(signal);
  await clock.advanceUntil(() => events.length === 1);
  t.same(files.set('/own/orchpods'), {
    'cpu.shares': '3072',
    'memory.limit_in_bytes': String(3072 * mi),
    'pids.max': '900',
    'hugetlb.2MB.limit_in_bytes': String(64 * mi),
  });
  t.match(events, [{ type: 'Normal', reason: 'NodeAllocatableEnforced' }]);
  t.equal(events[0]?.message, 'Updated Node Allocatable limit across pods');
  t.same(files.set('/own/orchpods/besteffort'), { 'cpu.shares': '2' });

  const guaranteed = pod('g', both('1', '64Mi'));
  pods.push(guaranteed, pod('b1', { requests: { cpu: '500m' } }), pod('b2', { requests: { cpu: '1' } }), pod('e'));
  for (const each of pods) await cgroups.create(each);
  t.same(files.set('/own/orchpods/podg'), {
    'cpu.shares': '1024',
    'cpu.cfs_period_us': '100000',
    'cpu.cfs_quota_us': '100000',
    'memory.limit_in_bytes': String(64 * mi),
    'pids.max': '50',
    'hugetlb.2MB.limit_in_bytes': '0',
  });
  t.same(files.set('/own/orchpods/burstable/podb1'), {
    ...{ 'cpu.shares': '512', 'pids.max': '50', 'hugetlb.2MB.limit_in_bytes': '0' },
  });
  t.same(files.set('/own/orchpods/besteffort/pode')['cpu.shares'], '2');
  t.equal(files.set('/own/orchpods/burstable')['cpu.shares'], '1536');
  t.same((await cgroups.list()).sort(), ['b1', 'b2', 'e', 'g']);

  await files.write('/cg/cpu/own/orchpods/burstable/cpu.shares', '7');
  await clock.advance(60_000);
  t.equal(files.set('/own/orchpods/burstable')['cpu.shares'], '1536', 'foreign changes are reverted');
  pods.splice(1, 1);
  await cgroups.remove('b1');
  t.equal(files.set('/own/orchpods/burstable')['cpu.shares'], '1024');
  t.same((await cgroups.list()).sort(), ['b2', 'e', 'g']);
});

t.test('version 2: controllers are enabled, and memory can be protected', async (t) => {
  const { clock, files, events, pods, node, cgroups, signal } = fixture(t, 2, { memoryQoS: true, root: '/' });
  await node.start();
  void node.run(signal);
  await clock.advanceUntil(() => events.length === 1);
  t.match(await files.read('/cg/cgroup.subtree_control'), /^cpu cpuset memory pids hugetlb$/, 'of the root');
  t.match(await files.read('/cg/own/orchpods/cgroup.subtree_control'), /cpuset memory/, 'of the parent of pods');
  pods.push(pod('g', both('1', '64Mi')), pod('b', { requests: { memory: '32Mi' }, limits: { memory: '48Mi' } }));
  for (const each of pods) await cgroups.create(each);
  t.same(files.set('/own/orchpods'), {
    'cpu.weight': '118',
    'memory.max': String(3072 * mi),
    'memory.min': String(96 * mi),
    'pids.max': '900',
    'hugetlb.2MB.max': String(64 * mi),
  });
  t.same(files.set('/own/orchpods/burstable'), { 'cpu.weight': '1', 'memory.min': String(32 * mi) });
  t.same(files.set('/own/orchpods/podg'), {
    'cpu.weight': '39',
    'cpu.max': '100000 100000',
    'memory.max': String(64 * mi),
    'memory.min': String(64 * mi),
    'pids.max': '50',
    'hugetlb.2MB.max': '0',
  });
});

t.test('a limit below the current usage is retried and reported', async (t) => {
  const { clock, files, events, node, signal } = fixture(t, 1, { root: '/' });
  files.refuse('memory.limit_in_bytes', 'EBUSY');
  await node.start();
  void node.run(signal);
  await clock.advanceUntil(() => events.length === 1);
  t.match(events[0], {
    type: 'Warning',
    reason: 'FailedNodeAllocatableEnforcement',
    message: /^Failed to update Node Allocatable Limits \["own" "orchpods"\]: .*memory\.limit_in_bytes.*EBUSY/,
  });
  t.equal(files.set('/own/orchpods')['pids.max'], '900', 'the others are set');
  files.refuse('memory.limit_in_bytes', undefined);
  await clock.advance(60_000);
  t.equal(events.at(-1)?.reason, 'NodeAllocatableEnforced');
});

t.test('reservations are enforced in their own cgroups', async (t) => {
  const reserved = { cpu: '500m', memory: '256Mi', pid: '77' };
  const enforced = [{ title: 'System', path: '/system', reserved }];
  const { files, events, node } = fixture(t, 1, { root: '/', enforced });
  const failure =
    /^Failed to enforce System Reserved Cgroup Limits on "\/system": cgroup \["system"\] has some missing/;
  await t.rejects(node.start(), { message: failure });
  t.match(events, [{ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message: failure }]);
  for (const controller of ['cpu', 'memory', 'pids', 'hugetlb']) await files.make(`/cg/${controller}/system`);
  await node.start();
  t.same(files.set('/system'), {
    'cpu.shares': '512',
    'memory.limit_in_bytes': String(256 * mi),
    'pids.max': '77',
  });
  t.match(events.at(-1), {
    ...{ type: 'Normal', reason: 'NodeAllocatableEnforced' },
    message: 'Updated limits on system reserved cgroup /system',
  });
});

t.test('memory is reserved for higher classes, or usage is the limit', async (t) => {
  const { files, pods, node } = fixture(t, 1, { root: '/', reservedPercent: 50 });
  pods.push(pod('g', both('1', '1Gi')), pod('b', { requests: { memory: '512Mi' } }));
  await node.start();
  t.equal(files.set('/own/orchpods/burstable')['memory.limit_in_bytes'], String(2560 * mi));
  t.equal(files.set('/own/orchpods/besteffort')['memory.limit_in_bytes'], String(2304 * mi));
  await files.write('/cg/memory/own/orchpods/besteffort/memory.usage_in_bytes', String(2200 * mi));
  files.refuse('memory.limit_in_bytes', 'EBUSY', (text) => Number(text) < 2200 * mi);
  pods.push(pod('g2', both('1', '1Gi')));
  await node.update();
  t.equal(files.set('/own/orchpods/burstable')['memory.limit_in_bytes'], String(2560 * mi), 'nothing of it is in use');
  t.equal(files.set('/own/orchpods/besteffort')['memory.limit_in_bytes'], String(2200 * mi));
});

t.test('processes of a removed cgroup are killed, and no others', async (t) => {
  const { clock, files, refused, node, cgroups } = fixture(t, 1, { root: '/' });
  await node.start();
  for (const uid of ['a', 'b']) await cgroups.create(pod(uid));
  await files.make('/cg/systemd/own/orchpods/besteffort/poda/container');
  files.enter('/cg/systemd/own/orchpods/besteffort/poda/container', 4711);
  files.enter('/cg/cpu/own/orchpods/besteffort/podb', 4712);
  const removed = cgroups.remove('a');
  await clock.advanceUntil(() => files.killed.length > 0);
  await clock.advance(100);
  await removed;
  t.same(files.killed, [4711]);
  t.same(await cgroups.list(), ['b']);
  t.same(refused, []);
  files.enter('/cg/cpu/own/orchpods/besteffort/podb', 1);
  const stuck = cgroups.remove('b');
  await clock.advanceUntil(() => refused.length > 0);
  await stuck;
  t.same(refused, ['/own/orchpods/besteffort/podb'], 'a failure is reported');
});
