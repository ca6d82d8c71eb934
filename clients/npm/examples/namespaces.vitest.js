// npm install --save-dev vitest orch-testcluster @kubernetes/client-node
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { startCluster } from 'orch-testcluster';
import { afterAll, beforeAll, expect, test } from 'vitest';

let cluster;
beforeAll(async () => {
  cluster = await startCluster({ nodes: 1 });
});
afterAll(() => cluster.stop());

test('a new cluster has its namespaces', async () => {
  const config = new KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  const { items } = await config.makeApiClient(CoreV1Api).listNamespace();
  expect(items.map(({ metadata }) => metadata.name)).toContain('default');
});
