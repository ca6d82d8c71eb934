/** All controllers against a real API server (in process, store in memory). */
import t from 'tap';
import { deployments, replicasets } from '#api/apps/v1/resources.gen.js';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import {
  configmaps,
  endpoints,
  namespaces,
  nodes,
  pods,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { runPods, startCluster, until } from '#test/integration/controllers/cluster.js';

const labels = { app: 'web' };

function deployment(replicas: number, image: string): Deployment {
  return {
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image, ports: [{ containerPort: 80 }] }] } },
    },
  };
}

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`the life of a deployment and its namespace, ${dialect.name}`, async (t) => {
    const client = await startCluster(t, { dialect });
    const namespace = 'shop';
    const podsNow = async () => (await client.resource(pods).list({ namespace })).items;
    await client
      .resource(nodes)
      .create({ metadata: { name: 'n1', labels: { [dialect.labels.zone]: 'z1' } }, spec: {} });
    runPods(t, client);
    await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    await until(
      'default account',
      () => client.resource(serviceaccounts).get('default', { namespace }),
      () => true,
    );
    const ca = await until(
      'CA',
      () => client.resource(configmaps).get(dialect.rootCAConfigMap, { namespace }),
      () => true,
    );
    t.equal(ca.data?.['ca.crt'], 'the root CA');

    await client.resource(services).create({
      metadata: { name: 'web', namespace },
      spec: { selector: labels, ports: [{ port: 80 }] },
    });
    await client.resource(deployments).create(deployment(3, 'v1'));
    const getDeployment = () => client.resource(deployments).get('web', { namespace });
    await until('3 available', getDeployment, (d) => d.status?.availableReplicas === 3);
    await until(
      'endpoints',
      () => client.resource(endpoints).get('web', { namespace }),
      (e) => e.subsets?.[0]?.addresses?.length === 3,
    );
    const [slice] = await until(
      'slices',
      async () => (await client.resource(endpointslices).list({ namespace })).items,
      (items) =>
        items.length === 1 && items[0]?.endpoints.length === 3 && items[0].endpoints.every((e) => e.conditions?.ready),
    );
    t.match(slice?.endpoints[0], { nodeName: 'n1', zone: 'z1', targetRef: { kind: 'Pod' } });

    const { spec } = deployment(3, 'v2');
    await client.resource(deployments).patch('web', { spec }, { namespace, type: 'strategic' });
    await until(
      'rolled out',
      getDeployment,
      (d) =>
        d.status?.observedGeneration === d.metadata.generation &&
        d.status?.updatedReplicas === 3 &&
        d.status.replicas === 3,
    );
    await until(
      'only v2',
      podsNow,
      (items) => items.length === 3 && items.every((pod) => pod.spec.containers[0]?.image === 'v2'),
    );
    t.equal((await getDeployment()).metadata.annotations?.[dialect.annotations.deploymentRevision], '2');

    await client.resource(deployments).delete('web', { namespace, propagationPolicy: 'Background' });
    await until(
      'sets collected',
      async () => (await client.resource(replicasets).list({ namespace })).items,
      (items) => items.length === 0,
    );
    await until('pods collected', podsNow, (items) => items.length === 0);

    await client.resource(deployments).create(deployment(2, 'v3'));
    await until('2 available', getDeployment, (d) => d.status?.availableReplicas === 2);
    await client.resource(deployments).delete('web', { namespace, propagationPolicy: 'Orphan' });
    const [orphan] = await until(
      'set orphaned',
      async () => (await client.resource(replicasets).list({ namespace })).items,
      (items) => items.length === 1 && (items[0]?.metadata.ownerReferences ?? []).length === 0,
    );
    await until(
      'deployment deleted',
      async () => (await client.resource(deployments).list({ namespace })).items,
      (items) => items.length === 0,
    );
    t.equal((await podsNow()).length, 2);

    await client
      .resource(replicasets)
      .delete(orphan?.metadata.name ?? '', { namespace, propagationPolicy: 'Foreground' });
    await until(
      'set deleted after its pods',
      async () => (await client.resource(replicasets).list({ namespace })).items,
      (items) => items.length === 0,
    );
    t.equal((await podsNow()).length, 0);

    await client.resource(deployments).create(deployment(2, 'v4'));
    await until('2 again', getDeployment, (d) => d.status?.availableReplicas === 2);
    await client.resource(namespaces).delete(namespace);
    await until(
      'namespace deleted',
      async () => (await client.resource(namespaces).list()).items.map((n) => n.metadata.name),
      (names) => !names.includes(namespace),
    );
    t.equal((await client.resource(pods).list()).items.length, 0);
  });
}
