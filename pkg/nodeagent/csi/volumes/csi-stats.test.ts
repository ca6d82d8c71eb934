import t from 'tap';
import { eventually } from '#nodeagent/testing/agent-fixture.js';
import { CSITestNode, driverName, podWith, setUp } from '#nodeagent/testing/csi-node.js';

const skip = process.getuid?.() === 0 ? false : 'needs root';

t.test('drivers report the usage and the health of volumes', { skip }, async (t) => {
  for (const hasGate of [false, true]) {
    const args = hasGate ? ['--feature-gates', 'CSIVolumeHealth=true'] : [];
    const node = await CSITestNode.start({ object: {}, args });
    t.teardown(() => node.clean());
    node.driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'VOLUME_CONDITION'];
    const agent = await node.agent();
    t.equal(await setUp(agent, podWith('u', [node.persist('v')])), undefined);
    node.driver.stats = {
      usage: [
        { unit: 'BYTES', total: 1000, used: 400, available: 600 },
        { unit: 'INODES', total: 10, used: 4, available: 6 },
      ],
      volumeCondition: { abnormal: true, message: 'slow' },
    };
    const filesystem = { availableBytes: 600, capacityBytes: 1000, usedBytes: 400, inodes: 10, inodesFree: 6 };
    const path = agent.volumes.mounted('u').get('v')?.path;
    const usage = { path, specName: 'pv-v', driver: driverName, filesystem, inodesUsed: 4 };
    const health = { abnormal: true, message: 'slow' };
    t.same(await agent.csi.stats.ofPod('u'), [hasGate ? { ...usage, health } : usage]);
    node.driver.stats = { usage: [] };
    t.same(await agent.csi.stats.ofPod('u'), [], 'a response without usage is no measurement');
    node.driver.capabilities = ['STAGE_UNSTAGE_VOLUME'];
    t.same(await agent.csi.stats.ofPod('u'), [], 'drivers without the capability are not asked');
    const text = await node.registry.metrics();
    const call = (method: string, code: string) =>
      `csi_operations_seconds_count{driver_name="${driverName}",method_name="/csi.v1.Node/${method}",grpc_status_code="${code}",migrated="false"}`;
    t.match(text, `${call('NodePublishVolume', 'OK')} 1`);
    t.match(text, `${call('NodeGetVolumeStats', 'OK')} 2`);
    const plugin = `volume_plugin="orch.io/csi:${driverName}"`;
    t.match(
      text,
      `storage_operation_duration_seconds_count{${plugin},operation_name="volume_mount",status="success",migrated="false"} 1`,
    );
    await node.clean();
  }
});

t.test('a response that is too large is refused', { skip }, async (t) => {
  const node = await CSITestNode.start({ object: {} });
  t.teardown(() => node.clean());
  const agent = await node.agent();
  const pod = podWith('u', [node.persist('v')]);
  const message = 'x'.repeat(5000);
  node.driver.fault = (method) => (method === 'NodeStageVolume' ? { code: 'INTERNAL', message } : undefined);
  const [event = ''] = (await setUp(agent, pod)) ?? [];
  t.ok(event.length < 1200, 'long messages are cut');
  node.driver.fault = undefined;
  t.equal(await setUp(agent, pod), undefined);
  node.driver.stats = { usage: [{ unit: 'BYTES', total: 1 }], volumeCondition: { message: 'x'.repeat(5 << 20) } };
  t.same(await agent.csi.stats.ofPod('u'), []);
  await agent.volumes.tearDown('u');
  await eventually(async () => (await node.files()).length === 0, 'no directory is left');
});
