import t from 'tap';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { ingressclasses } from '#api/networking/v1/resources.gen.js';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { publishOptions } from '#cluster/hosted/options.js';
import { publishAll } from '#cluster/hosted/publish.js';
import { readNodeSettings } from '#cluster/objects/node-settings.js';
import { parseOptions } from '#daemon/options/parse.js';

t.setTimeout(60_000);

function valuesOf(...args: string[]) {
  const parsed = parseOptions(publishOptions, args, { program: 'test' });
  if (parsed.kind !== 'run') throw new Error('not run');
  return parsed.values;
}

for (const { name } of [orchDialect, kubernetesDialect]) {
  t.test(`publish creates all objects in the ${name} dialect`, async (t) => {
    const cluster = await startCluster({ dialect: name, nodes: 0 });
    t.teardown(() => cluster.close());
    const { client } = cluster;
    const server = 'https://192.0.2.10:30443';
    const more = [
      '--pod-range=10.1.0.0/16',
      '--service-range=10.2.0.0/16',
      '--cluster-dns=none',
      '--service-proxy=none',
    ];
    const input = { values: valuesOf('--ingress', ...more), server, ca: 'PEM' };
    await publishAll(client, input);
    await publishAll(client, input);
    const namespace = client.dialect.namespaces.public;
    const { data = {} } = await client.resource(configmaps).get('cluster-info', { namespace });
    t.match(Object.values(data).join('\n'), `server: ${server}`);
    t.same(await readNodeSettings(client), {
      ...{ podRange: '10.1.0.0/16', serviceRange: '10.2.0.0/16', clusterDomain: 'cluster.local' },
      ...{ clusterDns: 'none', serviceProxy: 'none' },
    });
    const { rules } = await client.resource(clusterroles).get(`${client.dialect.product}:monitoring`);
    t.ok(
      rules?.some(({ resources = [] }) => resources.includes('nodes/metrics')),
      'Prometheus may read metrics of nodes',
    );
    const classes = async () => (await client.resource(ingressclasses).list()).items.length;
    t.equal(await classes(), 1);
    await publishAll(client, { ...input, values: valuesOf(...more) });
    t.equal(await classes(), 0, 'the class is deleted when the controller is off');
  });
}
