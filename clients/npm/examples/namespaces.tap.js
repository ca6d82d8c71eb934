// npm install --save-dev tap orch-testcluster
import { request } from 'node:https';
import { startCluster } from 'orch-testcluster';
import t from 'tap';

t.test('a new cluster has its namespaces', async (t) => {
  const cluster = await startCluster({ controllers: 'none' });
  t.teardown(() => cluster.stop());
  const status = await new Promise((resolve, reject) => {
    const { url, ca, clientCertificate: cert, clientKey: key } = cluster;
    request(`${url}/api/v1/namespaces/default`, { ca, cert, key, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
  t.equal(status, 200);
});
