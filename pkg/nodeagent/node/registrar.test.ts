import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { events, nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, NodeSystemInfo } from '#api/core/v1/types.gen.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { silentLogger } from '#daemon/log/logger.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { RuntimeNetwork } from '#nodeagent/node/runtime-network.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';
import { nodeName, testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const Mi = 2 ** 20;

/** Returns the node's event messages by reason. */
function nodeEvents(api: Awaited<ReturnType<typeof virtualAgent>>['api']): Map<string, string> {
  const own = api.list(events).filter(({ involvedObject }) => involvedObject.kind === 'Node');
  return new Map(own.map(({ reason = '', message = '' }) => [reason, message]));
}

const conditionOf = (node: Node | undefined, type: string) => node?.status?.conditions?.find((c) => c.type === type);

t.test('a node emits events for its start and its resources', async (t) => {
  const { api, until } = await virtualAgent(t);
  await until(() => nodeEvents(api).has('NodeHasSufficientPID'));
  t.equal(nodeEvents(api).get('Starting'), 'Starting nodeagent.');
  for (const reason of ['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID'])
    t.equal(nodeEvents(api).get(reason), `Node ${nodeName} status is now: ${reason}`);
  const event = api.list(events).find(({ reason }) => reason === 'Starting');
  t.match(event?.involvedObject, { kind: 'Node', name: nodeName, uid: nodeName });
  t.equal(event?.metadata.namespace, 'default');
});

t.test('pressure sets a condition, emits an event and lasts for the transition period', async (t) => {
  const machine = new SimulatedMachine({ address: '192.0.2.1' });
  const state = await machine.state();
  let memoryAvailableBytes = state.memoryAvailableBytes;
  machine.state = async () => ({ ...state, memoryAvailableBytes });
  const { api, clock, until } = await virtualAgent(t, { dependencies: { machine } });
  const status = () => conditionOf(api.get(nodes, nodeName), 'MemoryPressure')?.status;
  t.equal(status(), 'False');
  memoryAvailableBytes = 99 * Mi;
  await until(() => status() === 'True');
  t.match(conditionOf(api.get(nodes, nodeName), 'MemoryPressure'), {
    reason: 'NodeagentHasInsufficientMemory',
    message: 'nodeagent has insufficient memory available',
  });
  await until(() => nodeEvents(api).has('NodeHasInsufficientMemory'));
  memoryAvailableBytes = state.memoryAvailableBytes;
  await clock.advance(240_000);
  t.equal(status(), 'True');
  await clock.advance(120_000);
  t.equal(status(), 'False');
});

t.test('messages of a node that is not ready are those of 1.24', async (t) => {
  const machine = new SimulatedMachine({ address: '192.0.2.1' });
  const facts = await machine.facts();
  machine.facts = async () => ({ ...facts, appArmor: true });
  const { api, runtime, until } = await virtualAgent(t, { dependencies: { machine } });
  const ready = () => conditionOf(api.get(nodes, nodeName), 'Ready');
  await until(() => ready()?.status === 'True');
  t.match(ready(), { reason: 'NodeagentReady', message: 'nodeagent is posting ready status. AppArmor enabled' });
  const problem = (type: string) => ({ type, status: false, reason: 'Broken', message: 'it is' });
  const conditionText = (type: string) => `${type}=false reason:Broken message:it is`;
  const network = `container runtime network not ready: ${conditionText('NetworkReady')}`;
  runtime.status = async () => [problem('NetworkReady')];
  await until(() => ready()?.status === 'False');
  t.match(ready(), { reason: 'NodeagentNotReady', message: network });
  runtime.status = async () => [problem('RuntimeReady'), problem('NetworkReady')];
  await until(() => ready()?.message !== network);
  t.equal(ready()?.message, `[container runtime not ready: ${conditionText('RuntimeReady')}, ${network}]`);
  runtime.status = () => Promise.reject(new Error('no answer'));
  // The last reported condition is kept in the message.
  await until(() => ready()?.message?.startsWith('[container runtime is down, container runtime not ready: ') === true);
});

t.test('PID pressure needs a threshold', async (t) => {
  const machine = new SimulatedMachine({ address: '192.0.2.1' });
  const state = await machine.state();
  machine.state = async () => ({ ...state, processes: 950, maxProcesses: 1000 });
  const { api } = await virtualAgent(t, { args: ['--eviction-hard=pid.available<10%'], dependencies: { machine } });
  t.equal(conditionOf(api.get(nodes, nodeName), 'PIDPressure')?.status, 'True');
});

t.test('huge pages are allocatable and subtracted from memory', async (t) => {
  const machine = new SimulatedMachine({
    address: '192.0.2.1',
    memoryBytes: 1024 * Mi,
    hugePages: { [2 * Mi]: 64 * Mi, [1024 * Mi]: 0 },
  });
  const { api } = await virtualAgent(t, { dependencies: { machine } });
  t.match(api.get(nodes, nodeName)?.status, {
    capacity: { 'hugepages-2Mi': '64Mi', 'hugepages-1Gi': '0', memory: `${1024 * 1024}Ki` },
    allocatable: { 'hugepages-2Mi': '64Mi', 'hugepages-1Gi': '0', memory: `${(1024 - 64 - 100) * 1024}Ki` },
  });
});

t.test('an existing node object is corrected, and user changes are kept', async (t) => {
  const { api, until } = await virtualAgent(t, {
    args: ['--node-labels=team=red', '--register-with-taints=fresh=yes:NoSchedule'],
    dependencies: (api) => {
      api.seed(nodes, {
        metadata: { name: nodeName, labels: { 'orch.io/hostname': 'another', team: 'blue' } },
        spec: { taints: [{ key: 'mine', effect: 'NoExecute' }] },
        status: {
          capacity: { 'example.com/gpu': '4', 'hugepages-16Mi': '32Mi' },
          allocatable: { 'example.com/gpu': '4', 'hugepages-16Mi': '32Mi' },
          nodeInfo: { bootID: 'before' } as NodeSystemInfo,
          conditions: [{ type: 'Ready', status: 'False' }],
          volumesInUse: ['orch.io/csi/driver^disk'],
        },
      });
      return { machine: new SimulatedMachine({ address: '192.0.2.1', bootID: 'now' }) };
    },
  });
  await until(() => conditionOf(api.get(nodes, nodeName), 'Ready')?.status === 'True');
  const node = api.get(nodes, nodeName);
  t.match(node, {
    metadata: {
      labels: { 'orch.io/hostname': nodeName, 'orch.io/os': 'linux', team: 'blue' },
    },
    status: { capacity: { 'example.com/gpu': '0', cpu: '32' }, allocatable: { 'example.com/gpu': '0' } },
  });
  t.same(
    node?.spec?.taints?.map(({ key }) => key),
    ['mine'],
  );
  t.notOk(node?.status?.capacity?.['hugepages-16Mi']);
  t.same(node?.status?.volumesInUse ?? [], []);
  await until(() => nodeEvents(api).has('NodeReady'));
  t.equal(nodeEvents(api).get('Rebooted'), `Node ${nodeName} has been rebooted, boot id: now`);
});

t.test('the lease is owned by the node and renewed after failures', async (t) => {
  const { api, clock, until } = await virtualAgent(t);
  const lease = () => api.get(leases, `orch-node-lease/${nodeName}`);
  const uid = api.get(nodes, nodeName)?.metadata.uid;
  t.same(lease()?.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid }]);
  api.change(leases, `orch-node-lease/${nodeName}`, (object) => {
    object.metadata.ownerReferences = [];
  });
  await until(() => lease()?.metadata.ownerReferences?.length === 1);
  let refused = 0;
  api.intercept(({ resource }) => {
    if (resource !== 'leases' || refused >= 4) return undefined;
    refused += 1;
    throw serviceUnavailable('not now');
  });
  const before = lease()?.spec.renewTime;
  // A renewal is due after 10 s; the retries wait 100, 200, 400 and 800 ms.
  await clock.advance(12_000);
  t.equal(refused, 4);
  t.not(lease()?.spec.renewTime, before);
});

t.test('options can leave fields out of the node', async (t) => {
  const nodeOf = async (...args: string[]) => (await virtualAgent(t, { args })).api.get(nodes, nodeName);
  const [usual, other] = [
    await nodeOf(),
    await nodeOf('--enable-controller-attach-detach=false', '--experimental-allocatable-ignore-eviction'),
  ];
  const managed = 'volumes.orch.io/controller-managed-attach-detach';
  t.equal(usual?.metadata.annotations?.[managed], 'true');
  t.equal(other?.metadata.annotations?.[managed], undefined);
  t.not(usual?.status?.allocatable?.['memory'], usual?.status?.capacity?.['memory']);
  t.equal(other?.status?.allocatable?.['memory'], other?.status?.capacity?.['memory']);
});

t.test('extended resources in the capacity are allocatable while present', async (t) => {
  const { api, clock, until } = await virtualAgent(t);
  const status = () => api.get(nodes, nodeName)?.status;
  const write = (capacity: Record<string, string | null>) =>
    api.client.resource(nodes).patch(nodeName, { status: { capacity } }, { type: 'merge', subresource: 'status' });
  const own = status();
  await write({ 'example.com/dongle': '4', 'attachable-volumes-disk': '16' });
  await until(() => status()?.allocatable?.['example.com/dongle'] !== undefined);
  t.match(status()?.capacity, { 'example.com/dongle': '4', 'attachable-volumes-disk': '16', ...own?.capacity });
  t.match(status()?.allocatable, { 'example.com/dongle': '4', 'attachable-volumes-disk': '16', ...own?.allocatable });
  await write({ 'example.com/dongle': '7', memory: '1Ki' });
  await until(() => status()?.allocatable?.['example.com/dongle'] === '7');
  t.equal(status()?.capacity?.['memory'], own?.capacity?.['memory'], "the agent's own resources are the detected ones");
  await write({ 'example.com/dongle': null, 'attachable-volumes-disk': null });
  await until(() => status()?.allocatable?.['example.com/dongle'] === undefined);
  t.same(status()?.capacity, own?.capacity);
  // As in release 1.24, only extended resources are removed.
  t.equal(status()?.allocatable?.['attachable-volumes-disk'], '16');
  await clock.advance(600_000);
  t.same(status()?.capacity, own?.capacity, 'it does not come back');
});

const node = (podCIDRs: string[]): Node => ({ metadata: { name: nodeName }, spec: { podCIDRs } });

t.test('the pod CIDR is passed to a runtime that lacks it', async (t) => {
  const podCIDRs: string[] = [];
  let failing = false;
  const cri = {
    async updateRuntimeConfig(podCIDR: string) {
      if (failing) throw new CRIError('Unavailable', 'gone');
      podCIDRs.push(podCIDR);
    },
  };
  const network = new RuntimeNetwork({ cri, log: silentLogger, podCIDR: '' });
  t.notOk(await network.sendPodCIDR(node([])));
  t.notOk(await network.sendPodCIDR(node([]), true), 'nothing to send');
  failing = true;
  t.notOk(await network.sendPodCIDR(node(['10.0.0.0/24'])));
  failing = false;
  t.ok(await network.sendPodCIDR(node(['10.0.0.0/24'])));
  t.notOk(await network.sendPodCIDR(node(['10.0.0.0/24'])));
  t.ok(await network.sendPodCIDR(node(['10.0.0.0/24']), true), 'addresses are sent again to a restarted runtime');
  t.ok(await network.sendPodCIDR(node(['10.0.0.0/24', 'fd00::/64'])));
  t.same(podCIDRs, ['10.0.0.0/24', '10.0.0.0/24', '10.0.0.0/24,fd00::/64']);
  const alone = new RuntimeNetwork({ cri, log: silentLogger, podCIDR: '10.9.0.0/24' });
  t.ok(await alone.sendPodCIDR(node([])));
  t.ok(await alone.sendPodCIDR(node(['10.0.0.0/24'])));
  t.same(podCIDRs.slice(3), ['10.9.0.0/24', '10.0.0.0/24'], "the node's range takes precedence");
});

t.test('a node is ready, and its pods get addresses, once it has a pod range', async (t) => {
  const { api, clock, status, isTrue, reasons, until } = await virtualAgent(t, { podCIDR: '' });
  const ready = () => api.get(nodes, nodeName)?.status?.conditions?.find(({ type }) => type === 'Ready');
  t.match(ready(), {
    status: 'False',
    reason: 'NodeagentNotReady',
    message: /container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady/,
  });
  api.seed(pods, testPod('waits'));
  api.seed(pods, testPod('host', { hostNetwork: true }));
  await until(() => isTrue('host', 'Ready') && reasons('waits').includes('NetworkNotReady'));
  t.notOk(isTrue('waits', 'Ready'));
  // The running pod's image is reported only once.
  await clock.advance(10_000);
  api.takeWrites();
  await clock.advance(60_000);
  t.same(
    api.takeWrites().filter((line) => line.includes('nodes/status')),
    [],
    'a node that waits does not write',
  );
  const podCIDRs = ['10.7.3.0/24', 'fd00:7:3::/64'];
  api.change<Node>(nodes, nodeName, ({ spec }) => Object.assign(spec, { podCIDR: podCIDRs[0], podCIDRs }));
  await until(() => ready()?.status === 'True');
  await until(() => isTrue('waits', 'Ready'));
  t.match(status('waits')?.podIPs, [{ ip: '10.7.3.2' }, { ip: 'fd00:7:3::2' }]);
});
