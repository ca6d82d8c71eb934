import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { eventually } from '#nodeagent/testing/agent-fixture.js';
import { type CSINodeOptions, CSITestNode, driverName, podWith, setUp } from '#nodeagent/testing/csi-node.js';

const skip = process.getuid?.() === 0 ? false : 'needs root';

async function start(t: Test, options: CSINodeOptions = {}) {
  const node = await CSITestNode.start(options);
  t.teardown(() => node.clean());
  return { node, agent: await node.agent() };
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
