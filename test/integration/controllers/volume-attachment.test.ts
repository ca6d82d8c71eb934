/** Attachment of volumes to the nodes of their pods, against a real API server over a real etcd. */
import t from 'tap';
import {
  events,
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
} from '#api/core/v1/resources.gen.js';
import { volumeattachments } from '#api/storage/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { runPods, startCluster, until } from '#test/integration/controllers/cluster.js';
import { startEtcdStore } from '#test/integration/controllers/cluster-store.js';

const namespace = 'shop';
const driver = 'disk.example.com';

t.setTimeout(180_000);

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`attachments, ${dialect.name}`, async (t) => {
    const controllers = ['attachdetach', 'persistentvolume-binder'];
    const client = await startCluster(t, { dialect, controllers, ...(await startEtcdStore(t)) });
    await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    const annotations = { [dialect.annotations.controllerAttachDetach]: 'true' };
    for (const name of ['n1', 'n2']) await client.resource(nodes).create({ metadata: { name, annotations }, spec: {} });
    runPods(t, client);
    await client.resource(persistentvolumes).create({
      metadata: { name: 'disk' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver, volumeHandle: 'h' },
        claimRef: { namespace, name: 'data' },
      },
    });
    await client.resource(persistentvolumeclaims).create({
      metadata: { name: 'data', namespace },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
    });
    const addPod = (name: string, nodeName: string) =>
      client.resource(pods).create({
        metadata: { name, namespace },
        spec: {
          nodeName,
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'c', image: 'sleeps' }],
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
        },
      });
    const attachments = async () => (await client.resource(volumeattachments).list()).items;
    const on = (node: string) => (items: { spec: { nodeName: string } }[]) =>
      items.length === 1 && items[0]?.spec.nodeName === node;
    const recorded = (reason: string, name: string) =>
      until(
        reason,
        async () => (await client.resource(events).list({ namespace })).items,
        (items) => items.some((event) => event.reason === reason && event.involvedObject.name === name),
      );
    await addPod('first', 'n1');
    const [attachment] = await until('asked for', attachments, on('n1'));
    t.match(attachment?.spec, { attacher: driver, source: { persistentVolumeName: 'disk' } });
    await client
      .resource(volumeattachments)
      .patch(attachment?.metadata.name ?? '', { status: { attached: true } }, { type: 'merge', subresource: 'status' });
    const node = () => client.resource(nodes).get('n1');
    const told1 = await until('the node is recorded', node, ({ status }) => status?.volumesAttached?.length === 1);
    t.equal(told1.status?.volumesAttached?.[0]?.name, `${dialect.labelDomain}/csi/${driver}^h`);
    await recorded('SuccessfulAttachVolume', 'first');
    await addPod('second', 'n2');
    await recorded('FailedAttachVolume', 'second');
    t.ok(on('n1')(await attachments()));
    await client.resource(pods).delete('first', { namespace });
    await until('the other node has it', attachments, on('n2'));
    t.same((await node()).status?.volumesAttached ?? [], []);
  });
}
