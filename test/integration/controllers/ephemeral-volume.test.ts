/** Claims of ephemeral volumes, and expansion of claims, against a real API server. */
import t from 'tap';
import { events, namespaces, persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { runPods, startCluster, until } from '#test/integration/controllers/cluster.js';
import { startEtcdStore } from '#test/integration/controllers/cluster-store.js';

const namespace = 'shop';

t.setTimeout(180_000);

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`ephemeral volumes, ${dialect.name}`, async (t) => {
    const controllers = [
      'ephemeral-volume',
      'garbagecollector',
      'persistentvolume-binder',
      'persistentvolume-expander',
      'pvc-protection',
    ];
    const client = await startCluster(t, { dialect, controllers, ...(await startEtcdStore(t)) });
    await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    runPods(t, client);
    const claims = client.resource(persistentvolumeclaims);
    const reasons = (reason: string) =>
      until(
        reason,
        async () => (await client.resource(events).list({ namespace })).items.map((event) => event.reason),
        (reasons) => reasons.includes(reason),
      );
    await client.resource(storageclasses).create({
      metadata: { name: 'grows' },
      provisioner: 'disk.example.com',
      allowVolumeExpansion: true,
    });
    await client.resource(persistentvolumes).create({
      metadata: { name: 'disk' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'grows',
        csi: { driver: 'disk.example.com', volumeHandle: 'h' },
      },
    });
    const spec = {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'grows',
      resources: { requests: { storage: '1Gi' } },
    };
    await client.resource(pods).create({
      metadata: { name: 'user', namespace },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'c', image: 'sleeps' }],
        volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { metadata: { labels: { a: 'b' } }, spec } } }],
      },
    });
    const claim = () => claims.get('user-scratch', { namespace });
    const bound = await until('bound', claim, ({ status }) => status?.phase === 'Bound');
    t.match(bound.metadata, { labels: { a: 'b' }, ownerReferences: [{ kind: 'Pod', name: 'user', controller: true }] });
    const more = { spec: { resources: { requests: { storage: '2Gi' } } } };
    await claims.patch('user-scratch', more, { type: 'merge', namespace });
    await reasons('ExternalExpanding');
    await client.resource(pods).delete('user', { namespace });
    await until(
      'it is deleted with its pod',
      async () => (await claims.list({ namespace })).items,
      (items) => items.length === 0,
    );
  });
}
