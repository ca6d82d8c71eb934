import { readFile } from 'node:fs/promises';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { CSIDriver } from '#api/storage/v1/types.gen.js';
import { CSITestNode, setUp } from '#nodeagent/testing/csi-node.js';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const page = await readFile(new URL('../../../../../docs/volumes.md', import.meta.url), 'utf8');
const example = /```yaml\n(apiVersion: storage.*?)```/s.exec(page)?.[1] ?? '';

t.test('the example of docs/volumes.md works', { skip }, async (t) => {
  const objects = parseAllDocuments(example).map((document) => document.toJS() as { kind: string });
  const [driver, volume, claim, pod] = objects as unknown as [CSIDriver, PersistentVolume, PersistentVolumeClaim, Pod];
  t.same(
    objects.map(({ kind }) => kind),
    ['CSIDriver', 'PersistentVolume', 'PersistentVolumeClaim', 'Pod'],
  );
  const node = await CSITestNode.start({ object: driver.spec });
  t.teardown(() => node.clean());
  const agent = await node.agent();
  // As the controller binds them.
  const { claimRef } = volume.spec;
  node.api.seed(persistentvolumes, { ...volume, spec: { ...volume.spec, claimRef: { ...claimRef, uid: 'bound' } } });
  const status = { phase: 'Bound', capacity: volume.spec.capacity ?? {} };
  node.api.seed(persistentvolumeclaims, { ...claim, metadata: { ...claim.metadata, uid: 'bound' }, status });
  t.equal(await setUp(agent, { ...pod, metadata: { ...pod.metadata, uid: 'cinema' } }), undefined);
  t.same(
    await node.mounts(),
    [
      [...node.driver.staged.values()][0]?.slice(node.root.length + 1),
      'pods/cinema/volumes/orch.io~csi/films/mount',
      'pods/cinema/volumes/orch.io~csi/scratch/mount',
    ].sort(),
  );
  const contexts = node.driver.calls
    .filter(({ method }) => method === 'NodePublishVolume')
    .map(({ request }) => request['volumeContext']);
  t.match(
    contexts.sort((a, b) => JSON.stringify(b).localeCompare(JSON.stringify(a))),
    [
      { speed: 'high', 'csi.storage.orch.io/pod.name': 'cinema', 'csi.storage.orch.io/ephemeral': 'false' },
      { size: '1Mi', 'csi.storage.orch.io/ephemeral': 'true' },
    ],
  );
});
