import t from 'tap';
import { nodes, persistentvolumes } from '#api/core/v1/resources.gen.js';
import { csistoragecapacities, storageclasses } from '#api/storage/v1/resources.gen.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { LocalStorageCapacityController } from '#controllers/localstoragecapacity/controller.js';

t.test('each node has a capacity per class without its volumes', async (t) => {
  const harness = new Harness(t, [nodes, persistentvolumes, storageclasses, csistoragecapacities]);
  const { api, dialect } = harness;
  const addNode = (name: string) =>
    api.seed(nodes, {
      metadata: { name, labels: { [dialect.labels.hostname]: `host-${name}` } },
      spec: {},
      status: { allocatable: { 'ephemeral-storage': '10Gi' } },
    });
  const addClass = (name: string, provisioner: string) =>
    api.seed(storageclasses, { metadata: { name }, provisioner, volumeBindingMode: 'WaitForFirstConsumer' });
  const addVolume = (name: string, storage: string, node: string) =>
    api.seed(persistentvolumes, {
      metadata: { name, annotations: { [dialect.annotations.localVolumeNode]: node } },
      spec: { capacity: { storage } },
    });
  const shown = () =>
    api
      .list(csistoragecapacities)
      .map(
        ({ storageClassName, capacity, nodeTopology }) =>
          `${storageClassName} ${nodeTopology?.matchLabels?.[dialect.labels.hostname]} ${Number(capacity) / 2 ** 30}`,
      )
      .sort();
  addNode('a');
  addNode('b');
  api.seed(nodes, { metadata: { name: 'new' }, spec: {} });
  addClass('local', 'local.storage.orch.io');
  addClass('other', 'example.com/disks');
  addVolume('v', '3Gi', 'a');
  await harness.start(new LocalStorageCapacityController(harness.context));
  t.same(shown(), ['local host-a 7', 'local host-b 10']);
  t.match(api.list(csistoragecapacities)[0]?.metadata, {
    namespace: 'orch-system',
    ownerReferences: [{ kind: 'Node', apiVersion: 'v1' }],
  });

  addVolume('w', '100Gi', 'b');
  api.remove(persistentvolumes, 'v');
  await harness.settled();
  t.same(shown(), ['local host-a 10', 'local host-b 0'], 'volumes are added and deleted');

  api.takeWrites();
  api.change(nodes, 'a', ({ status }) => {
    if (status !== undefined) status.conditions = [];
  });
  await harness.settled();
  t.same(api.takeWrites(), [], 'nothing is written for a heartbeat');

  const [first] = api.list(csistoragecapacities);
  api.remove(csistoragecapacities, `orch-system/${first?.metadata.name}`);
  await harness.settled();
  t.equal(shown().length, 2, 'a deleted object is recreated');

  addClass('second', 'local.storage.orch.io');
  await harness.settled();
  t.equal(shown().length, 4);
  api.remove(storageclasses, 'local');
  await harness.settled();
  t.same(shown(), ['second host-a 10', 'second host-b 0'], 'a class is deleted');

  api.remove(nodes, 'a');
  await harness.settled();
  t.same(shown(), ['second host-b 0'], 'a node is deleted');
});
