/** Protection of used claims and volumes, against a real API server over a real etcd. */
import t, { type Test } from 'tap';
import { namespaces, persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { runPods, startCluster, until } from '#test/integration/controllers/cluster.js';
import { startEtcdStore } from '#test/integration/controllers/cluster-store.js';

const namespace = 'shop';
const size = { resources: { requests: { storage: '1Gi' } }, accessModes: ['ReadWriteOnce'] };

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`used claims and volumes stay, ${dialect.name}`, async (t: Test) => {
    const client = await startCluster(t, {
      dialect,
      controllers: ['pvc-protection', 'pv-protection', 'serviceaccount'],
      ...(await startEtcdStore(t)),
    });
    await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    runPods(t, client);
    const claims = client.resource(persistentvolumeclaims);
    const volumes = client.resource(persistentvolumes);
    await claims.create({ metadata: { name: 'data', namespace }, spec: size });
    await volumes.create({
      metadata: { name: 'disk' },
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp/disk' } },
    });
    const claim = () => claims.get('data', { namespace });
    const volume = () => volumes.get('disk');
    const { pvcProtection, pvProtection } = dialect.finalizers;
    const held = (finalizer: string) => (object: { metadata: { finalizers?: readonly string[] } }) =>
      object.metadata.finalizers?.includes(finalizer) === true;
    await until('the claim is protected', claim, held(pvcProtection));
    await until('the volume is protected', volume, held(pvProtection));

    await client.resource(pods).create({
      metadata: { name: 'user', namespace },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'c', image: 'sleeps' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
      },
    });
    const pod = () => client.resource(pods).get('user', { namespace });
    await until('the pod is bound', pod, ({ spec }) => spec.nodeName !== undefined);
    await volumes.patch('disk', { status: { phase: 'Bound' } }, { type: 'merge', subresource: 'status' });
    await claims.delete('data', { namespace });
    await volumes.delete('disk');
    t.ok((await claim()).metadata.deletionTimestamp);
    t.ok((await volume()).metadata.deletionTimestamp);
    // Creating and deleting another claim shows that the controller has handled the used ones.
    await claims.create({ metadata: { name: 'other', namespace }, spec: size });
    await until('protected', () => claims.get('other', { namespace }), held(pvcProtection));
    await claims.delete('other', { namespace });
    const gone = (ask: () => Promise<unknown>) => async () => {
      try {
        await ask();
        return false;
      } catch (error) {
        if (isNotFound(error)) return true;
        throw error;
      }
    };
    const isGone = (answer: boolean) => answer;
    await until(
      'the unused claim is deleted',
      gone(() => claims.get('other', { namespace })),
      isGone,
    );
    t.ok(held(pvcProtection)(await claim()));
    t.ok(held(pvProtection)(await volume()));
    await client.resource(pods).delete('user', { namespace });
    await until('the claim goes with its pod', gone(claim), isGone);
    await volumes.patch('disk', { status: { phase: 'Released' } }, { type: 'merge', subresource: 'status' });
    await until('the volume goes when it is released', gone(volume), isGone);
  });
}
