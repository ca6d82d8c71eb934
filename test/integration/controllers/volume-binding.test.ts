/** Claims and volumes, external provisioning and reclaiming, against a real API server over a real etcd. */
import t from 'tap';
import { events, namespaces, persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { startCluster, until } from '#test/integration/controllers/cluster.js';
import { startEtcdStore } from '#test/integration/controllers/cluster-store.js';

const namespace = 'shop';
const controllers = ['persistentvolume-binder', 'pv-protection', 'pvc-protection'];

t.setTimeout(180_000);

function volume(name: string, size: string, spec: Partial<PersistentVolume['spec']> = {}): PersistentVolume {
  return {
    metadata: { name },
    spec: { capacity: { storage: size }, accessModes: ['ReadWriteOnce'], hostPath: { path: `/tmp/${name}` }, ...spec },
  };
}

function claim(name: string, size: string, spec: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim {
  return {
    metadata: { name, namespace },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
      storageClassName: '',
      ...spec,
    },
  };
}

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`volumes, ${dialect.name}`, async (t) => {
    const client = await startCluster(t, { dialect, controllers, ...(await startEtcdStore(t)) });
    await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    const claims = client.resource(persistentvolumeclaims);
    const volumes = client.resource(persistentvolumes);
    const claimNow = (name: string) => () => claims.get(name, { namespace });
    const volumeNow = (name: string) => () => volumes.get(name);
    const inPhase = (phase: string) => (object: { status?: { phase?: string } }) => object.status?.phase === phase;
    const recorded = (reason: string, name: string) =>
      until(
        reason,
        async () => (await client.resource(events).list()).items,
        (items) => items.some((event) => event.reason === reason && event.involvedObject.name === name),
      );

    // As many concurrent claims as volumes.
    const numbers = Array.from({ length: 12 }, (_, i) => i);
    await Promise.all(numbers.map((i) => volumes.create(volume(`disk${i}`, '2Gi'))));
    for (const i of numbers) await until('available', volumeNow(`disk${i}`), inPhase('Available'));
    await Promise.all(numbers.map((i) => claims.create(claim(`data${i}`, '1Gi'))));
    const bound = await Promise.all(numbers.map((i) => until('bound', claimNow(`data${i}`), inPhase('Bound'))));
    t.equal(new Set(bound.map(({ spec }) => spec.volumeName)).size, numbers.length);
    t.match(bound[0]?.status, { capacity: { storage: '2Gi' }, accessModes: ['ReadWriteOnce'] });
    const kept = bound[0]?.spec.volumeName ?? '';
    t.match(await volumes.get(kept), { spec: { claimRef: { name: 'data0', uid: bound[0]?.metadata.uid } } });
    await claims.delete('data0', { namespace });
    await until('released', volumeNow(kept), inPhase('Released'));

    // Both refer to each other.
    await volumes.create(volume('mine', '9Gi', { claimRef: { name: 'wanted', namespace } }));
    await claims.create(claim('wanted', '1Gi', { volumeName: 'mine' }));
    await until('reserved', claimNow('wanted'), inPhase('Bound'));
    t.equal((await volumes.get('mine')).metadata.annotations?.[dialect.annotations.boundByController], undefined);

    // Created and deleted by an external provisioner.
    const driver = 'disk.example.com';
    await client.resource(storageclasses).create({
      metadata: { name: 'late' },
      provisioner: driver,
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await claims.create(claim('made', '1Gi', { storageClassName: 'late' }));
    await recorded('WaitForFirstConsumer', 'made');
    t.equal((await claimNow('made')()).metadata.annotations?.[dialect.annotations.storageProvisioner], undefined);
    const chosen = { metadata: { annotations: { [dialect.annotations.selectedNode]: 'n1' } } };
    await claims.patch('made', chosen, { type: 'merge', namespace });
    const requested = await until(
      'the provisioner is requested',
      claimNow('made'),
      ({ metadata }) => metadata.annotations?.[dialect.annotations.storageProvisioner] === driver,
    );
    await recorded('ExternalProvisioning', 'made');
    const { uid = '' } = requested.metadata;
    await volumes.create({
      metadata: { name: `pvc-${uid}`, annotations: { [dialect.annotations.provisionedBy]: driver } },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver, volumeHandle: 'h' },
        storageClassName: 'late',
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { kind: 'PersistentVolumeClaim', namespace, name: 'made', uid },
      },
    });
    await until('bound to what was made', claimNow('made'), inPhase('Bound'));
    await until('bound', volumeNow(`pvc-${uid}`), inPhase('Bound'));
    await claims.delete('made', { namespace });
    await until('released for its driver', volumeNow(`pvc-${uid}`), inPhase('Released'));

    // No provisioner deletes it.
    await volumes.create(volume('stuck', '3Gi', { persistentVolumeReclaimPolicy: 'Delete' }));
    await claims.create(claim('big', '3Gi', { volumeName: 'stuck' }));
    await until('bound', claimNow('big'), inPhase('Bound'));
    await claims.delete('big', { namespace });
    await until('failed', volumeNow('stuck'), inPhase('Failed'));
    await recorded('VolumeFailedDelete', 'stuck');
  });
}
