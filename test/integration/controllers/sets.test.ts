/** Stateful sets and daemon sets against a real API server over a real etcd. */
import { existsSync } from 'node:fs';
import t from 'tap';
import { controllerrevisions, daemonsets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { namespaces, nodes, persistentvolumeclaims, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { runPods, startCluster, until } from '#test/integration/controllers/cluster.js';

const namespace = 'shop';
const image = (name: string) => ({ spec: { template: { spec: { containers: [{ name: 'c', image: name }] } } } });
const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image: 'v1' }] },
});
const merge = { namespace, type: 'merge' } as const;
const skip = existsSync('/usr/bin/etcd') ? false : 'no etcd on this machine';

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`sets, ${dialect.name}`, { skip }, async (t) => {
    const etcd = await startEtcd();
    t.teardown(() => etcd.stop());
    const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
    t.teardown(() => store.close());
    const gates = { StatefulSetAutoDeletePVC: true, MaxUnavailableStatefulSet: true };
    const client = await startCluster(t, { dialect, store, gates });
    for (const name of ['n1', 'n2', 'n3']) await client.resource(nodes).create({ metadata: { name }, spec: {} });
    await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    const account = () => client.resource(serviceaccounts).get('default', { namespace });
    await until('default account', account, () => true);
    runPods(t, client);
    const podsOf = async (app: string): Promise<Pod[]> =>
      (await client.resource(pods).list({ namespace, labelSelector: `app=${app}` })).items;
    const images = (items: readonly Pod[]) => items.map((pod) => pod.spec.containers[0]?.image);

    await t.test('stateful', async (t) => {
      const sets = client.resource(statefulsets);
      await sets.create({
        metadata: { name: 'db', namespace },
        spec: {
          replicas: 3,
          serviceName: 'db',
          selector: { matchLabels: { app: 'db' } },
          template: template('db'),
          revisionHistoryLimit: 1,
          volumeClaimTemplates: [
            {
              metadata: { name: 'data' },
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
            },
          ],
          persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
        },
      });
      const read = () => sets.get('db', { namespace });
      const rolledOut = (size: number) =>
        until('rolled out', read, ({ metadata, status, spec }) =>
          [
            status?.observedGeneration === metadata.generation,
            status?.updatedReplicas === size && status.readyReplicas === size && status.replicas === size,
            status?.currentRevision === status?.updateRevision && spec.replicas === size,
          ].every(Boolean),
        );
      await rolledOut(3);
      t.same(
        (await podsOf('db')).map(({ metadata }) => metadata.name),
        ['db-0', 'db-1', 'db-2'],
      );
      for (const name of ['v2', 'v3', 'v4']) {
        await sets.patch('db', image(name), merge);
        await rolledOut(3);
        t.same(images(await podsOf('db')), [name, name, name]);
      }
      const revisions = client.resource(controllerrevisions);
      await until(
        'history is limited',
        async () => (await revisions.list({ namespace })).items.map(({ revision }) => revision).sort(),
        (numbers) => numbers.join() === '3,4',
      );
      await sets.patch('db', { spec: { replicas: 1 } }, merge);
      await rolledOut(1);
      const claims = async () => (await client.resource(persistentvolumeclaims).list({ namespace })).items;
      const left = await until('claims go with their pods', claims, (items) => items.length === 1);
      t.match(left[0]?.metadata, { name: 'data-db-0', ownerReferences: [{ kind: 'StatefulSet', name: 'db' }] });
      await sets.delete('db', { namespace, propagationPolicy: 'Background' });
      await until('and with the set', claims, (items) => items.length === 0);
      await until(
        'pods too',
        () => podsOf('db'),
        (items) => items.length === 0,
      );
      const kept = async () => (await revisions.list({ namespace })).items;
      await until('and its history', kept, (items) => items.length === 0);
    });

    await t.test('daemons', async (t) => {
      const sets = client.resource(daemonsets);
      await sets.create({
        metadata: { name: 'agent', namespace },
        spec: { selector: { matchLabels: { app: 'agent' } }, template: template('agent') },
      });
      const rolledOut = (size: number) =>
        until(
          'rolled out',
          () => sets.get('agent', { namespace }),
          ({ metadata, status }) =>
            [
              status?.observedGeneration === metadata.generation && status?.desiredNumberScheduled === size,
              status?.updatedNumberScheduled === size && status.numberAvailable === size,
            ].every(Boolean),
        );
      const places = async () => (await podsOf('agent')).map((pod) => pod.spec.nodeName).sort();
      await rolledOut(3);
      t.same(await places(), ['n1', 'n2', 'n3']);
      await client.resource(nodes).create({ metadata: { name: 'n4' }, spec: {} });
      await rolledOut(4);
      const surge = {
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '50%', maxUnavailable: 0 } },
      };
      await sets.patch('agent', { spec: { ...image('v2').spec, ...surge } }, merge);
      await rolledOut(4);
      await until(
        'old pods are deleted',
        async () => images(await podsOf('agent')).join(),
        (all) => all === 'v2,v2,v2,v2',
      );
      const drained = { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } };
      await client.resource(nodes).patch('n4', drained, { type: 'merge' });
      await rolledOut(3);
      await until('none on the tainted node', places, (names) => names.join() === 'n1,n2,n3');
      await sets.delete('agent', { namespace, propagationPolicy: 'Orphan' });
      await until(
        'orphaned',
        async () => (await podsOf('agent')).filter((pod) => (pod.metadata.ownerReferences ?? []).length === 0),
        (items) => items.length === 3,
      );
      const uids = (await podsOf('agent')).map(({ metadata }) => metadata.uid).sort();
      await until(
        'the set is deleted',
        async () => (await sets.list({ namespace })).items,
        (items) => items.length === 0,
      );
      await sets.create({
        metadata: { name: 'agent', namespace },
        spec: {
          selector: { matchLabels: { app: 'agent' } },
          template: { ...template('agent'), spec: { ...template('agent').spec, ...image('v2').spec.template.spec } },
        },
      });
      await rolledOut(3);
      t.same((await podsOf('agent')).map(({ metadata }) => metadata.uid).sort(), uids, 'another set adopts the pods');
    });
  });
}
