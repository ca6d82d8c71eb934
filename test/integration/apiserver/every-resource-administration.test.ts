import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { administrationCases } from '#test/integration/apiserver/resources/administration.js';
import { testResources } from '#test/integration/apiserver/resources/exercise.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

testResources(t, administrationCases, kubernetesDialect);

t.test('resources of disabled features are not served', async (t) => {
  const server = await startServer(t, { dialect: kubernetesDialect });
  const group = `/apis/${kubernetesDialect.apiVersion('apiserverinternal', 'v1alpha1')}`;
  t.equal((await call(server, 'GET', group)).status, 404);
  t.equal((await call(server, 'GET', `${group}/storageversions`)).status, 404);
});
