import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { csinodes, volumeattachments } from '#api/storage/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { eventually } from '#nodeagent/testing/agent-fixture.js';
import { type CSINodeOptions, CSITestNode, driverName, podWith, setUp } from '#nodeagent/testing/csi-node.js';

const skip = process.getuid?.() === 0 ? false : 'needs root';

async function start(t: Test, options: CSINodeOptions = {}) {
  const node = await CSITestNode.start(options);
  t.teardown(() => node.clean());
  return { node, agent: await node.agent() };
}

/** Resolves once the agent has unstaged everything and removed its directories. */
async function nothingLeft(node: CSITestNode): Promise<void> {
  await eventually(async () => (await node.files()).length === 0, 'the removal of all directories');
  t.same(await node.mounts(), [], 'nothing is mounted');
}

const noAttach = { attachRequired: false };

t.test('two pods share a staged volume, and the last one ends it', { skip }, async (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const { node, agent } = await start(t, { dialect, object: noAttach });
    const volume = node.persist('vol', {
      csi: { volumeAttributes: { a: 'b' }, driver: driverName, volumeHandle: 'vol' },
    });
    t.equal(await setUp(agent, podWith('u1', [volume])), undefined);
    t.equal(await setUp(agent, podWith('u2', [volume])), undefined);
    const domain = dialect.labelDomain;
    const staging = [...node.driver.staged.values()][0]?.slice(node.root.length + 1) ?? '';
    t.match(staging, new RegExp(`^plugins/${domain}/csi/${driverName}/[0-9a-f]{64}/globalmount$`));
    t.same(
      await node.mounts(),
      [staging, `pods/u1/volumes/${domain}~csi/pv-vol/mount`, `pods/u2/volumes/${domain}~csi/pv-vol/mount`].sort(),
    );
    t.equal(node.driver.log('NodeStageVolume').length, 1, 'staged once');
    const target = join(node.root, `pods/u1/volumes/${domain}~csi/pv-vol`);
    t.match(JSON.parse(await readFile(join(target, 'vol_data.json'), 'utf8')), {
      attachmentID: /^csi-[0-9a-f]{64}$/,
      driverName,
      nodeName: 'node-1',
      specVolID: 'pv-vol',
      volumeHandle: 'vol',
      volumeLifecycleMode: 'Persistent',
    });
    await writeFile(join(target, 'mount/file'), 'x');
    t.equal(await readFile(join(node.root, `pods/u2/volumes/${domain}~csi/pv-vol/mount/file`), 'utf8'), 'x');
    await agent.volumes.tearDown('u1');
    t.equal(node.driver.log('NodeUnstageVolume').length, 0);
    await agent.volumes.tearDown('u2');
    await eventually(() => node.driver.staged.size === 0, 'the volume is unstaged');
    t.same(await node.mounts(), []);
  }
});

/** The request of the last call of a method. */
function last(node: CSITestNode, method: string): Record<string, unknown> {
  return node.driver.calls.findLast((call) => call.method === method)?.request ?? {};
}

t.test('a driver gets the context of volume and pod, secrets and tokens', { skip }, async (t) => {
  const { node, agent } = await start(t, {
    dialect: kubernetesDialect,
    object: { podInfoOnMount: true, tokenRequests: [{ audience: 'b' }, { audience: '', expirationSeconds: 600 }] },
  });
  node.api.seed(secrets, { metadata: { name: 's', namespace: 'other' }, data: { key: 'dmFsdWU=' } });
  node.api.seed(serviceaccounts, { metadata: { name: 'sa', namespace: 'default' } });
  const answers: unknown[] = [];
  node.api.intercept((call) => {
    if (call.subresource !== 'token') return undefined;
    answers.push((call.body as { spec: unknown }).spec);
    return { status: { token: `t${answers.length}`, expirationTimestamp: '2030-01-01T00:00:00Z' } };
  });
  const reference = { name: 's', namespace: 'other' };
  const volume = node.persist('vol', {
    accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
    mountOptions: ['noatime'],
    csi: {
      ...{ driver: driverName, volumeHandle: 'vol', fsType: 'xfs', volumeAttributes: { own: '1' } },
      ...{ nodeStageSecretRef: reference, nodePublishSecretRef: reference },
    },
  });
  t.equal(await setUp(agent, podWith('u1', [volume], { serviceAccountName: 'sa' })), undefined);
  const capability = {
    accessMode: { mode: 'MULTI_NODE_MULTI_WRITER' },
    mount: { fsType: 'xfs', mountFlags: ['noatime'] },
  };
  t.match(last(node, 'NodeStageVolume'), {
    ...{ volumeId: 'vol', secrets: { key: 'value' }, volumeContext: { own: '1' }, volumeCapability: capability },
  });
  const published = last(node, 'NodePublishVolume');
  t.match(published, { volumeCapability: capability, secrets: { key: 'value' } });
  t.same(published['volumeContext'], {
    own: '1',
    'csi.storage.k8s.io/pod.name': 'u1',
    'csi.storage.k8s.io/pod.namespace': 'default',
    'csi.storage.k8s.io/pod.uid': 'u1',
    'csi.storage.k8s.io/serviceAccount.name': 'sa',
    'csi.storage.k8s.io/ephemeral': 'false',
    'csi.storage.k8s.io/serviceAccount.tokens':
      '{"":{"token":"t2","expirationTimestamp":"2030-01-01T00:00:00Z"},"b":{"token":"t1","expirationTimestamp":"2030-01-01T00:00:00Z"}}',
  });
  t.match(answers, [
    { audiences: ['b'], expirationSeconds: 3600 },
    { audiences: [], expirationSeconds: 600 },
  ]);
  node.api.remove(secrets, 'other/s');
  const other = node.persist('two', {
    csi: { driver: driverName, volumeHandle: 'two', nodePublishSecretRef: reference },
  });
  t.same(await setUp(agent, podWith('u2', [other], { serviceAccountName: 'sa' })), [
    'FailedMount: MountVolume.SetUp failed for volume "pv-two" : fetching NodePublishSecretRef other/s failed: kubernetes.io/csi: failed to find the secret s in the namespace other with error: secrets "s" not found',
  ]);
});

t.test('inline volumes need a driver that offers them', { skip }, async (t) => {
  const { node, agent } = await start(t);
  const inline = { name: 'eph', csi: { driver: driverName, readOnly: true, volumeAttributes: { size: '1' } } };
  const failed = (why: string) => [
    `FailedMount: MountVolume.NewMounter initialization failed for volume "eph" : ${why}`,
  ];
  t.same(
    await setUp(agent, podWith('u1', [inline])),
    failed(`volume mode "Ephemeral" not supported by driver ${driverName} (no CSIDriver object)`),
  );
  node.setObject({});
  await eventually(async () => {
    const [first = ''] = (await setUp(agent, podWith('u1', [inline]))) ?? [];
    return (
      first ===
      failed(`volume mode "Ephemeral" not supported by driver ${driverName} (only supports ["Persistent"])`)[0]
    );
  }, 'the object is known');
  const second = await start(t, { object: { volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true } });
  t.equal(await setUp(second.agent, podWith('u1', [inline])), undefined);
  const request = last(second.node, 'NodePublishVolume');
  t.match(request, {
    volumeId: /^csi-[0-9a-f]{64}$/,
    readonly: true,
    volumeContext: { size: '1', 'csi.storage.orch.io/ephemeral': 'true' },
    volumeCapability: { accessMode: { mode: 'SINGLE_NODE_WRITER' } },
  });
  t.notOk(request['stagingTargetPath'], 'inline volumes are not staged');
  t.same(second.node.driver.log('NodeStageVolume'), []);
  t.equal(second.agent.volumes.mounted('u1').get('eph')?.readOnly, true);
  await second.agent.volumes.release('u1');
  t.same(await second.node.mounts(), []);
  t.equal(last(second.node, 'NodeUnpublishVolume')['volumeId'], request['volumeId']);
});

t.test('access modes follow the capability for several writers', { skip }, async (t) => {
  for (const [mode, plain, several] of [
    ['ReadWriteOnce', 'SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
    ['ReadWriteOncePod', 'SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER'],
    ['ReadOnlyMany', 'MULTI_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'],
  ] as const) {
    for (const [capabilities, expected] of [
      [[], plain],
      [['SINGLE_NODE_MULTI_WRITER'], several],
    ] as const) {
      const { node, agent } = await start(t, { object: noAttach, driver: { capabilities } });
      t.equal(await setUp(agent, podWith('u', [node.persist('v', { accessModes: [mode] })])), undefined);
      t.match(last(node, 'NodePublishVolume'), { volumeCapability: { accessMode: { mode: expected } } }, mode);
      t.same(node.driver.log('NodeStageVolume'), [], 'a driver without the capability does not stage');
      await agent.volumes.tearDown('u');
      await nothingLeft(node);
    }
  }
});

t.test("files get the pod's group as the driver's policy says", { skip }, async (t) => {
  const rows = [
    { policy: 'ReadWriteOnceWithFSType', fsType: '', group: 0 },
    { policy: 'ReadWriteOnceWithFSType', fsType: 'ext4', group: 2000 },
    { policy: 'ReadWriteOnceWithFSType', fsType: 'ext4', modes: ['ReadWriteMany'], group: 0 },
    { policy: 'File', fsType: '', modes: ['ReadWriteMany'], group: 2000 },
    { policy: 'None', fsType: 'ext4', group: 0 },
    { policy: 'File', fsType: '', readOnly: true, group: 0 },
    { policy: 'File', fsType: 'ext4', delegated: true, group: 0 },
    { policy: 'File', fsType: 'ext4', delegated: true, gate: false, group: 2000 },
  ];
  for (const { policy, fsType, modes = ['ReadWriteOnce'], readOnly = false, delegated = false, gate, group } of rows) {
    const { node, agent } = await start(t, {
      object: { fsGroupPolicy: policy },
      driver: { capabilities: ['STAGE_UNSTAGE_VOLUME', ...(delegated ? ['VOLUME_MOUNT_GROUP'] : [])] },
      args: gate === false ? ['--feature-gates', 'DelegateFSGroupToCSIDriver=false'] : [],
    });
    const { name, persistentVolumeClaim } = node.persist('v', {
      accessModes: modes,
      csi: { driver: driverName, volumeHandle: 'v', fsType },
    });
    const volume = { name, persistentVolumeClaim: { claimName: persistentVolumeClaim?.claimName ?? '', readOnly } };
    t.equal(await setUp(agent, podWith('u', [volume], { securityContext: { fsGroup: 2000 } })), undefined);
    const path = agent.volumes.mounted('u').get('v')?.path ?? '';
    const row = JSON.stringify({ policy, fsType, modes, readOnly, delegated, gate });
    t.equal((await stat(path)).gid, group, row);
    const expected = gate !== false && delegated ? '2000' : undefined;
    for (const method of ['NodeStageVolume', 'NodePublishVolume']) {
      const { mount } = last(node, method)['volumeCapability'] as { mount: { volumeMountGroup?: string } };
      t.equal(mount.volumeMountGroup || undefined, expected, `${method} of ${row}`);
    }
    await node.clean();
  }
});

t.test('drivers publish again where their object says so', { skip }, async (t) => {
  const { node, agent } = await start(t, { object: { requiresRepublish: true } });
  const pod = podWith('u', [node.persist('v')]);
  for (let i = 0; i < 3; i++) t.equal(await setUp(agent, pod), undefined);
  t.equal(node.driver.log('NodePublishVolume').length, 3);
  t.equal(node.driver.log('NodeStageVolume').length, 1);
  node.driver.fault = (method) => (method === 'NodePublishVolume' ? { code: 'INTERNAL', message: 'stale' } : undefined);
  t.same(await setUp(agent, pod), [
    'FailedMount: MountVolume.SetUp failed for volume "pv-v" : rpc error: code = Internal desc = stale',
  ]);
  t.equal((await node.mounts()).length, 2, 'the volume stays mounted');
  node.driver.fault = undefined;
  await agent.volumes.tearDown('u');
  await nothingLeft(node);
});

t.test('failures have the texts of 1.24, and what is uncertain is undone', { skip }, async (t) => {
  const rows = [
    { method: 'NodeStageVolume', code: 'INTERNAL', after: false, undone: false },
    { method: 'NodeStageVolume', code: 'DEADLINE_EXCEEDED', after: false, undone: true },
    { method: 'NodeStageVolume', code: 'UNAVAILABLE', after: true, undone: true },
    { method: 'NodePublishVolume', code: 'INVALID_ARGUMENT', after: false, undone: false },
    { method: 'NodePublishVolume', code: 'ABORTED', after: true, undone: true },
    { method: 'NodePublishVolume', code: 'RESOURCE_EXHAUSTED', after: false, undone: true },
  ] as const;
  for (const { method, code, after, undone } of rows) {
    const { node, agent } = await start(t, { object: noAttach });
    node.driver.fault = (called) => (called === method ? { code, after, message: 'no' } : undefined);
    const step = method === 'NodeStageVolume' ? 'MountVolume.MountDevice' : 'MountVolume.SetUp';
    const goName = code.toLowerCase().replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());
    const row = `${method} ${code}`;
    t.same(
      await setUp(agent, podWith('u', [node.persist('v')])),
      [`FailedMount: ${step} failed for volume "pv-v" : rpc error: code = ${goName} desc = no`],
      row,
    );
    node.driver.fault = undefined;
    await agent.volumes.tearDown('u');
    await nothingLeft(node);
    const undo = method === 'NodeStageVolume' ? 'NodeUnstageVolume' : 'NodeUnpublishVolume';
    t.equal(node.driver.log(undo).length, undone ? 1 : 0, `${row}: ${undo}`);
    await node.clean();
  }
});

t.test('a pod waits for its attachment', { skip }, async (t) => {
  const { node, agent } = await start(t, { object: { attachRequired: true } });
  const pod = podWith('u', [node.persist('v')]);
  const done = setUp(agent, pod);
  const name = `orch.io/csi/${driverName}^v`;
  await eventually(() => agent.csi.volumes.inUse()?.includes(name) === true, 'the volume is in use');
  t.same(node.driver.log('NodeStageVolume'), []);
  node.attach('v', { attached: true, attachmentMetadata: { device: '/dev/x' } });
  t.equal(await done, undefined);
  t.same(last(node, 'NodeStageVolume')['publishContext'], { device: '/dev/x' });
  t.same(last(node, 'NodePublishVolume')['publishContext'], { device: '/dev/x' });
  await agent.volumes.tearDown('u');
  await eventually(() => agent.csi.volumes.inUse()?.length === 0, 'the volume is not in use');

  const stop = new AbortController();
  const waiting = setUp(agent, podWith('w', [node.persist('w')]), stop.signal);
  await eventually(() => agent.csi.volumes.inUse()?.length === 1, 'the second volume is in use');
  stop.abort(new Error('the pod ends'));
  await t.rejects(waiting, { message: 'the pod ends' });
  await agent.volumes.tearDown('w');
  t.same(agent.csi.volumes.inUse(), [], 'an interrupted wait leaves nothing');
});

t.test('problems of attachments become events', { skip }, async (t) => {
  const { node, agent } = await start(t, { object: { attachRequired: true } });
  node.attach('v', { attached: false });
  const [name] = node.api.list(volumeattachments).map(({ metadata }) => metadata.name ?? '');
  node.api.change(volumeattachments, name ?? '', (object) => {
    object.status = { attached: false, attachError: { message: 'no disk' } };
  });
  const failed = 'FailedMount: MountVolume.WaitForAttach failed for volume "pv-v" :';
  t.same(await setUp(agent, podWith('u', [node.persist('v')])), [`${failed} no disk`]);
  node.api.remove(volumeattachments, name ?? '');
  t.same(await setUp(agent, podWith('u', [{ name: 'v', persistentVolumeClaim: { claimName: 'v' } }])), [
    `${failed} volume v has GET error for volume attachment ${name}: volumeattachments.storage.orch.io "${name}" not found`,
  ]);
  const alone = await start(t, { args: ['--enable-controller-attach-detach=false'] });
  t.same(await setUp(alone.agent, podWith('u', [alone.node.persist('v')])), [
    'FailedAttachVolume: AttachVolume.Attach failed for volume "pv-v" : attaching volumes from the nodeagent is not supported',
  ]);
});

t.test('drivers that are not registered, vanish and come back', { skip }, async (t) => {
  const node = await CSITestNode.start({ object: noAttach });
  t.teardown(() => node.clean());
  const agent = await node.agent({ registers: false });
  const pod = podWith('u', [node.persist('v')]);
  const unknown = `driver name ${driverName} not found in the list of registered CSI drivers`;
  t.same(await setUp(agent, pod), [
    `FailedMount: MountVolume.MountDevice failed for volume "pv-v" : orch.io/csi: attacher.MountDevice failed to create newCsiDriverClient: ${unknown}`,
  ]);
  const plugin = { name: driverName, endpoint: node.socket, versions: ['1.0.0'] };
  await agent.csi.handler.register(plugin);
  t.match(node.api.get(csinodes, 'node-1')?.spec.drivers, [{ name: driverName, nodeID: 'id-of-node' }]);
  t.equal(await setUp(agent, pod), undefined);
  await agent.csi.handler.deregister(driverName);
  t.same(node.api.get(csinodes, 'node-1')?.spec.drivers, []);
  await t.rejects(agent.volumes.tearDown('u'), {
    message: `UnmountVolume.TearDown failed for volume "pv-v" : orch.io/csi: Unmounter.TearDownAt failed to get CSI client: ${unknown}`,
  });
  t.equal((await node.mounts()).length, 2, 'the volume stays mounted');
  await node.driver.stop();
  await node.driver.start();
  await agent.csi.handler.register(plugin);
  await agent.volumes.tearDown('u');
  await nothingLeft(node);
});

t.test('an agent finds the volumes of an earlier one', { skip }, async (t) => {
  const { node, agent } = await start(t, { object: { volumeLifecycleModes: ['Persistent', 'Ephemeral'] } });
  const inline = { name: 'eph', csi: { driver: driverName } };
  const shared = node.persist('v');
  const first = podWith('u1', [shared, inline]);
  t.equal(await setUp(agent, first), undefined);
  t.equal(await setUp(agent, podWith('u2', [shared])), undefined);
  t.equal(await setUp(agent, podWith('u3', [node.persist('w')])), undefined);
  await agent.stop();
  const next = await node.agent();
  t.equal(await setUp(next, first), undefined, 'volumes are staged and published again');
  t.equal(node.driver.log('NodeStageVolume').length, 3);
  t.equal((await node.mounts()).length, 6, 'nothing is mounted twice');
  for (const uid of ['u3', 'u2', 'u1']) await next.volumes.tearDown(uid);
  await nothingLeft(node);
  t.equal(node.driver.staged.size + node.driver.published.size, 0);
});

t.test('a later agent unstages what a crash left', { skip }, async (t) => {
  const { node, agent } = await start(t, { object: noAttach });
  t.equal(await setUp(agent, podWith('u', [node.persist('v')])), undefined);
  node.driver.fault = (method) => (method === 'NodeUnstageVolume' ? { code: 'INTERNAL' } : undefined);
  await agent.volumes.tearDown('u');
  await eventually(() => node.driver.log('NodeUnstageVolume').length > 0, 'the first attempt');
  await agent.stop();
  node.driver.fault = undefined;
  const next = await node.agent();
  next.csi.volumes.unstageUnused();
  await nothingLeft(node);
  t.equal(node.driver.staged.size, 0);
});
