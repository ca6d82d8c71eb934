/** Controllers of all resources handle each resource once, in one of its versions. */
import t from 'tap';
import { horizontalpodautoscalers } from '#api/autoscaling/v2beta1/resources.gen.js';
import { cronjobs } from '#api/batch/v1beta1/resources.gen.js';
import { namespaces } from '#api/core/v1/resources.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { discoverResources } from '#controllers/framework/discovery.js';
import { eventually } from '#test/e2e/harness.js';

for (const dialect of ['orch', 'kubernetes'] as const) {
  t.test(`${dialect} dialect`, { timeout: 300_000 }, async (t) => {
    const cluster = await startCluster({ dialect, nodes: 0 });
    t.teardown(() => cluster.close());
    const { client } = cluster;
    const { resources, failures } = await discoverResources(client);
    t.equal(failures.size, 0);
    const ids = resources.map(({ group, resource }) => `${group}/${resource}`);
    t.equal(new Set(ids).size, ids.length, 'each once');
    const versionOf = (name: string, group: string) =>
      resources.find((type) => type.resource === name && type.group === group)?.version;
    t.equal(versionOf('horizontalpodautoscalers', 'autoscaling'), 'v2');
    t.equal(versionOf('cronjobs', 'batch'), 'v1');
    t.equal(versionOf('podsecuritypolicies', 'policy'), 'v1beta1', 'served in another version only');

    const metadata = { name: 'a', namespace: 'going' };
    await client.resource(namespaces).create({ metadata: { name: 'going' }, spec: {} });
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
    const schedule = { schedule: '@yearly', jobTemplate: { spec: { template } } };
    await client.resource(cronjobs).create({ metadata, spec: schedule });
    const scaleTargetRef = { kind: 'Deployment', name: 'd' };
    await client.resource(horizontalpodautoscalers).create({ metadata, spec: { scaleTargetRef, maxReplicas: 1 } });
    await client.resource(namespaces).delete('going');
    await eventually('the namespace is gone with what was written in old versions', async () => {
      const namespace = client.resource(namespaces).get('going');
      return await namespace.then(() => false, isNotFound);
    });
    t.same((await client.resource(cronjobs).list({ namespace: 'going' })).items, []);
  });
}
