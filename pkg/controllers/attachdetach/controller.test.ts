import t, { type Test } from 'tap';
import { nodes, persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '#api/core/v1/types.gen.js';
import { csidrivers, volumeattachments } from '#api/storage/v1/resources.gen.js';
import type { CSIDriver, VolumeAttachment } from '#api/storage/v1/types.gen.js';
import { AttachDetachController } from '#controllers/attachdetach/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const driver = 'disk.example.com';
const uniqueName = `orch.io/csi/${driver}^h`;

function setUp(t: Test) {
  const harness = new Harness(t, [
    nodes,
    pods,
    persistentvolumeclaims,
    persistentvolumes,
    volumeattachments,
    csidrivers,
  ]);
  const { api, dialect } = harness;
  for (const name of ['n1', 'n2']) {
    const annotations = { [dialect.annotations.controllerAttachDetach]: 'true' };
    api.seed<Node>(nodes, { metadata: { name, annotations }, spec: {} });
  }
  const { uid = '' } = api.seed<PersistentVolumeClaim>(persistentvolumeclaims, {
    metadata: { name: 'data', namespace: 'default' },
    spec: { volumeName: 'disk' },
    status: { phase: 'Bound' },
  }).metadata;
  api.seed<PersistentVolume>(persistentvolumes, {
    metadata: { name: 'disk' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      csi: { driver, volumeHandle: 'h' },
      claimRef: { namespace: 'default', name: 'data', uid },
    },
  });
  const claimed: Volume = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };
  const addPod = (name: string, nodeName: string, volume = claimed) =>
    api.seed<Pod>(pods, {
      metadata: { name, namespace: 'default' },
      spec: { containers: [], nodeName, volumes: [volume] },
      status: { phase: 'Running' },
    });
  const attachments = () => api.list(volumeattachments).map(({ spec }) => spec.nodeName);
  const say = (status: VolumeAttachment['status']) => {
    for (const { metadata } of api.list(volumeattachments)) {
      api.change<VolumeAttachment>(volumeattachments, metadata.name ?? '', (each) => {
        if (status !== undefined) each.status = status;
      });
    }
    return harness.settled();
  };
  const use = (names: string[]) =>
    api.change<Node>(nodes, 'n1', (node) => {
      node.status = { ...node.status, volumesInUse: names };
    });
  const attachedTo = (name: string) => api.get(nodes, name)?.status?.volumesAttached?.map((each) => each.name) ?? [];
  const start = () => harness.start(new AttachDetachController(harness.context, { syncPeriodMs: 60_000 }));
  return { harness, api, addPod, attachments, say, use, attachedTo, start };
}

t.test('a volume is attached for a pod, and detached after the pod ends', async (t) => {
  const { harness, api, addPod, attachments, say, use, attachedTo, start } = setUp(t);
  await start();
  addPod('a', 'n1');
  await harness.settled();
  t.same(attachments(), ['n1']);
  t.match(api.list(volumeattachments)[0]?.spec, { attacher: driver, source: { persistentVolumeName: 'disk' } });
  t.same(attachedTo('n1'), []);
  await say({ attached: false, attachError: { message: 'no such disk' } });
  await say({ attached: true });
  t.same(attachedTo('n1'), [uniqueName]);
  t.same(harness.events, [
    'Warning FailedAttachVolume a: AttachVolume.Attach failed for volume "disk" : no such disk',
    'Normal SuccessfulAttachVolume a: AttachVolume.Attach succeeded for volume "disk" ',
  ]);
  use([uniqueName]);
  api.remove(pods, 'default/a');
  await harness.settled();
  t.same(attachments(), ['n1'], 'the node still uses the volume');
  use([]);
  await harness.settled();
  t.same(attachments(), []);
  t.same(attachedTo('n1'), []);
  const writes = api.takeWrites();
  t.ok(
    writes.lastIndexOf('patch nodes/status n1') <
      writes.findIndex((line) => line.startsWith('delete volumeattachments')),
    'the node status is updated first',
  );
});

t.test('a volume that its node still uses is detached after six minutes', async (t) => {
  const { harness, api, addPod, attachments, say, use, start } = setUp(t);
  addPod('a', 'n1');
  await start();
  await say({ attached: true });
  use([uniqueName]);
  api.remove(pods, 'default/a');
  await harness.advance(359_000);
  t.same(attachments(), ['n1']);
  await harness.advance(2000);
  t.same(attachments(), []);
});

t.test('an exclusive volume waits until the other node detaches it', async (t) => {
  const { harness, api, addPod, attachments, say, start } = setUp(t);
  addPod('a', 'n1');
  await start();
  await say({ attached: true });
  addPod('b', 'n2');
  await harness.advance(180_000);
  t.same(attachments(), ['n1']);
  t.same(
    harness.events.filter((event) => event.includes('Multi-Attach')),
    ['Warning FailedAttachVolume b: Multi-Attach error for volume "disk" Volume is already used by pod(s) a'],
    'the event is recorded once',
  );
  api.remove(pods, 'default/a');
  await harness.settled();
  t.same(attachments(), ['n2']);
});

t.test('two pods start on two nodes: one waits for the volume', async (t) => {
  const { harness, addPod, attachments, start } = setUp(t);
  await start();
  const thaw = harness.freeze('volumeattachments');
  addPod('a', 'n1');
  addPod('b', 'n2');
  await harness.advance(5000);
  t.equal(attachments().length, 1);
  thaw();
});

t.test('volumes without a driver that attaches are not attached', async (t) => {
  const { harness, api, addPod, attachments, start } = setUp(t);
  api.seed<CSIDriver>(csidrivers, { metadata: { name: driver }, spec: { attachRequired: false } });
  addPod('a', 'n1');
  addPod('old', 'n2', { name: 'ebs', awsElasticBlockStore: { volumeID: 'vol-1' } });
  await start();
  await harness.advance(180_000);
  t.same(attachments(), []);
  t.same(harness.events, [
    'Warning FailedAttachVolume old: AttachVolume.Attach failed for volume "ebs" : no volume plugin matched',
  ]);
});

t.test('a deleted node loses its volumes; a node that attaches itself is skipped', async (t) => {
  const { harness, api, addPod, attachments, say, start } = setUp(t);
  addPod('a', 'n1');
  await start();
  await say({ attached: true });
  api.change<Node>(nodes, 'n1', (node) => {
    node.metadata.annotations = {};
  });
  api.remove(pods, 'default/a');
  await harness.settled();
  t.same(attachments(), ['n1']);
  addPod('b', 'n1');
  api.remove(nodes, 'n1');
  await harness.settled();
  t.same(attachments(), ['n1'], 'its pods may still run');
  api.remove(pods, 'default/b');
  await harness.settled();
  t.same(attachments(), []);
  addPod('c', 'n1');
  await harness.settled();
  t.same(attachments(), []);
});
