import t from 'tap';
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaimStatus } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { expansionPatch, planExpansion } from '#nodeagent/csi/volumes/expansion-plan.js';
import { CSITestNode, podWith, setUp } from '#nodeagent/testing/csi-node.js';

const skip = process.getuid?.() === 0 ? false : 'needs root';

t.test('the claim says whether its volume may be expanded', async (t) => {
  const rows: [status: PersistentVolumeClaimStatus, recovers: boolean, expected: string][] = [
    [{ capacity: { storage: '1Gi' } }, false, 'expand, write capacity'],
    [{ capacity: { storage: '2Gi' } }, false, 'expand'],
    [{ capacity: { storage: '1Gi' } }, true, 'mark, expand, write capacity'],
    [{ capacity: { storage: '1Gi' }, resizeStatus: 'NodeExpansionPending' }, true, 'mark, expand, write capacity'],
    [{ capacity: { storage: '1Gi' }, resizeStatus: 'NodeExpansionInProgress' }, true, 'mark, expand, write capacity'],
    [{ capacity: { storage: '1Gi' }, resizeStatus: 'NodeExpansionFailed' }, true, ''],
    [{ capacity: { storage: '1Gi' }, resizeStatus: 'ControllerExpansionInProgress' }, true, ''],
    [{ capacity: { storage: '2Gi' }, resizeStatus: '' }, true, 'expand'],
    [{ capacity: { storage: '2Gi' } }, true, 'expand'],
  ];
  for (const [status, recovers, expected] of rows) {
    const plan = planExpansion({ metadata: {}, spec: {}, status }, '2Gi', recovers);
    const steps = [
      plan.marksProgress ? 'mark' : '',
      plan.proceeds ? 'expand' : '',
      plan.proceeds && plan.marksCapacity ? 'write capacity' : '',
    ];
    t.equal(steps.filter((step) => step !== '').join(', '), expected, JSON.stringify([status, recovers]));
  }
  const conditions = [
    { type: 'FileSystemResizePending', status: 'True' },
    { type: 'Other', status: 'True' },
  ];
  t.same(expansionPatch({ metadata: { resourceVersion: '7' }, spec: {}, status: { conditions } }, '2Gi', false), {
    metadata: { resourceVersion: '7' },
    status: { capacity: { storage: '2Gi' }, conditions: [{ type: 'FileSystemResizePending', $patch: 'delete' }] },
  });
});

/** Lets the persistent volume grow, as the driver's controller does. */
function grow(node: CSITestNode, storage: string): void {
  node.api.change(persistentvolumes, 'pv-v', (volume) => {
    volume.spec = { ...volume.spec, capacity: { storage } };
  });
}

const capacity = (node: CSITestNode) =>
  node.api.get(persistentvolumeclaims, 'default/v')?.status?.capacity?.['storage'];

t.test('volumes are expanded before a pod starts and while it runs', { skip }, async (t) => {
  const clock = new VirtualClock();
  const node = await CSITestNode.start({ object: {}, clock });
  t.teardown(() => node.clean());
  const agent = await node.agent();
  const pod = podWith('u', [node.persist('v')]);
  node.api.change(persistentvolumeclaims, 'default/v', (claim) => {
    claim.status = { ...claim.status, conditions: [{ type: 'FileSystemResizePending', status: 'True' }] };
  });
  grow(node, '2Gi');
  t.equal(await setUp(agent, pod), undefined);
  const [first] = node.driver.calls.filter(({ method }) => method === 'NodeExpandVolume');
  t.match(first?.request, {
    volumeId: 'v',
    volumePath: agent.volumes.mounted('u').get('v')?.path,
    stagingTargetPath: node.driver.staged.get('v'),
    capacityRange: { requiredBytes: 2 * 2 ** 30 },
    volumeCapability: { mount: {}, accessMode: { mode: 'SINGLE_NODE_WRITER' } },
  });
  t.equal(capacity(node), '2Gi');
  t.same(node.api.get(persistentvolumeclaims, 'default/v')?.status?.conditions ?? [], []);
  const succeeded = 'FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv-v" node-1';
  t.same(node.events, [succeeded, succeeded], 'events of the pod and of the claim');

  grow(node, '3Gi');
  t.equal(await setUp(agent, pod), undefined);
  t.equal(capacity(node), '2Gi', 'sizes are compared once a minute');
  await clock.advance(60_000);
  node.driver.fault = (method) => (method === 'NodeExpandVolume' ? { code: 'INTERNAL', message: 'no' } : undefined);
  t.equal(await setUp(agent, pod), undefined, 'the pod runs on');
  t.equal(
    node.events.at(-1),
    'VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-v" : Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = no',
  );
  node.driver.fault = undefined;
  await clock.advance(60_000);
  t.equal(await setUp(agent, pod), undefined);
  t.equal(capacity(node), '3Gi');

  grow(node, '4Gi');
  await clock.advance(60_000);
  node.driver.fault = (method) => (method === 'NodeExpandVolume' ? { code: 'FAILED_PRECONDITION' } : undefined);
  const calls = node.driver.log('NodeExpandVolume').length;
  for (let i = 0; i < 3; i++) {
    t.equal(await setUp(agent, pod), undefined);
    await clock.advance(60_000);
  }
  t.equal(node.driver.log('NodeExpandVolume').length, calls + 1, 'a volume in use is not tried again');
});

t.test('a failed expansion keeps the pod from starting', { skip }, async (t) => {
  const node = await CSITestNode.start({ object: {} });
  t.teardown(() => node.clean());
  const agent = await node.agent();
  const volume = node.persist('v');
  grow(node, '2Gi');
  node.driver.capabilities = ['STAGE_UNSTAGE_VOLUME'];
  const failed = 'FailedMount: MountVolume.Setup failed while expanding volume for volume "pv-v" :';
  t.same(await setUp(agent, podWith('u', [volume])), [
    `${failed} Expander.NodeExpand found CSI plugin orch.io/csi/test.driver to not support node expansion`,
  ]);
  const claim = { claimName: 'v', readOnly: true };
  t.equal(await setUp(agent, podWith('w', [{ name: 'v', persistentVolumeClaim: claim }])), undefined);
  t.equal(
    node.events.at(-1),
    'FileSystemResizeFailed: MountVolume.NodeExpandVolume failed for volume "pv-v" requested read-only file system',
  );
});
