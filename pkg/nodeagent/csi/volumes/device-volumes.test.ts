import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '#nodeagent/testing/agent-fixture.js';
import { CSITestNode, driverName, podWith, setUp } from '#nodeagent/testing/csi-node.js';

const skip = process.getuid?.() === 0 && existsSync('/dev/loop-control') ? false : 'needs root and loop devices';

/** Loop devices that keep a device below the directory open. */
function locks(dir: string): string[] {
  const lines = execFileSync('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'])
    .toString()
    .split('\n');
  return lines.filter((line) => line.includes(`${dir}/root/`));
}

t.test('containers get the device of a volume, which several pods share', { skip }, async (t) => {
  const node = await CSITestNode.start({ object: { podInfoOnMount: true } });
  t.teardown(() => node.clean());
  const agent = await node.agent();
  const volume = node.persist('v', { volumeMode: 'Block' });
  const pods = ['u1', 'u2'].map((uid) => podWith(uid, [volume], { devices: ['v'] }));
  for (const pod of pods) t.equal(await setUp(agent, pod), undefined);
  const devices = join(node.root, 'plugins/orch.io/csi/volumeDevices');
  const mounted = agent.volumes.mounted('u1').get('v');
  t.same(mounted, {
    path: join(node.root, 'pods/u1/volumeDevices/orch.io~csi/pv-v'),
    kind: 'device',
    readOnly: false,
  });
  t.equal(await readlink(mounted?.path ?? ''), join(devices, 'publish/pv-v/u1'));
  t.ok((await stat(mounted?.path ?? '')).isBlockDevice());
  t.ok((await lstat(join(devices, 'pv-v/dev/u2'))).isBlockDevice());
  t.equal(locks(node.dir).length, 2, 'both maps are kept open');
  t.match(JSON.parse(await readFile(join(devices, 'pv-v/data/vol_data.json'), 'utf8')), {
    ...{ driverName, volumeHandle: 'v', specVolID: 'pv-v', nodeName: 'node-1' },
  });
  const stages = node.driver.calls.filter(({ method }) => method === 'NodeStageVolume');
  t.match(stages, [
    {
      request: {
        ...{ volumeId: 'v', stagingTargetPath: join(devices, 'staging/pv-v') },
        volumeCapability: { block: {}, accessMode: { mode: 'SINGLE_NODE_WRITER' } },
      },
    },
  ]);
  t.equal(stages.length, 1, 'staged once');
  t.same(await node.mounts(), [
    'plugins/orch.io/csi/volumeDevices/publish/pv-v/u1',
    'plugins/orch.io/csi/volumeDevices/publish/pv-v/u2',
    'plugins/orch.io/csi/volumeDevices/pv-v/dev/u1',
    'plugins/orch.io/csi/volumeDevices/pv-v/dev/u2',
  ]);
  for (const pod of pods) t.equal(await setUp(agent, pod), undefined, 'idempotent');
  await agent.stop();
  const next = await node.agent();
  for (const pod of pods) t.equal(await setUp(next, pod), undefined, 'after a restart');
  await next.volumes.tearDown('u1');
  t.equal((await node.mounts()).length, 2);
  await next.volumes.tearDown('u2');
  await eventually(async () => (await node.files()).length === 0, 'no directory is left');
  t.same([await node.mounts(), locks(node.dir)], [[], []]);
  t.equal(node.driver.log('NodeUnstageVolume').length, 1);
});

t.test('failures of devices become events, and a later agent undoes them', { skip }, async (t) => {
  const rows = [
    {
      method: 'NodeStageVolume',
      code: 'INTERNAL',
      step: 'MapVolume.SetUpDevice',
      undo: 'NodeUnstageVolume',
      undone: 0,
    },
    { method: 'NodeStageVolume', code: 'ABORTED', step: 'MapVolume.SetUpDevice', undo: 'NodeUnstageVolume', undone: 1 },
    {
      method: 'NodePublishVolume',
      code: 'ABORTED',
      step: 'MapVolume.MapPodDevice',
      undo: 'NodeUnpublishVolume',
      undone: 1,
    },
  ] as const;
  for (const { method, code, step, undo, undone } of rows) {
    const node = await CSITestNode.start({ object: {} });
    t.teardown(() => node.clean());
    const agent = await node.agent();
    const pod = podWith('u', [node.persist('v', { volumeMode: 'Block' })], { devices: ['v'] });
    node.driver.fault = (called) => (called === method ? { code, after: true, message: 'no' } : undefined);
    const row = `${method} ${code}`;
    const name = code === 'INTERNAL' ? 'Internal' : 'Aborted';
    const message = `FailedMapVolume: ${step} failed for volume "pv-v" : rpc error: code = ${name} desc = no`;
    t.same(await setUp(agent, pod), [message], row);
    node.driver.fault = undefined;
    await agent.stop();
    const next = await node.agent();
    await next.volumes.tearDown('u');
    next.csi.volumes.unstageUnused();
    await eventually(async () => (await node.files()).length === 0, `${row}: no directory is left`);
    t.equal(node.driver.log(undo).length, undone, `${row}: ${undo}`);
    t.same(await node.mounts(), [], row);
    await node.clean();
  }
});
