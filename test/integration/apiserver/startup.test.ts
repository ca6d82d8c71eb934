/** Health checks at start, and objects that the server maintains. */
import t from 'tap';
import { flowschemas } from '#api/flowcontrol/v1beta2/resources.gen.js';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';

t.setTimeout(120_000);

/** As in a 1.24.17 server, without those of request queues, which do not exist here. */
const startupChecks = `start-kube-apiserver-admission-initializer generic-apiserver-start-informers
  start-apiextensions-informers start-apiextensions-controllers crd-informer-synced bootstrap-controller
  rbac/bootstrap-roles scheduling/bootstrap-system-priority-classes priority-and-fairness-config-producer
  start-cluster-authentication-info-controller start-kube-aggregator-informers apiservice-registration-controller
  apiservice-status-available-controller kube-apiserver-autoregistration autoregister-completion
  apiservice-openapi-controller apiservice-openapiv3-controller`
  .split(/\s+/)
  .map((name) => (name === 'autoregister-completion' ? name : `poststarthook/${name}`));

const { argv } = await clusterCredentials(t, dialect, 'token,user,1\n');
const server = await startCompleteServer(t, { dialect, argv });

t.test('health checks have the names of 1.24', async (t) => {
  const user = { name: 'admin', groups: [dialect.groups.masters] };
  const transport = new InProcessTransport({ handler: server.handler, user });
  t.teardown(() => transport.close());
  const read = async (path: string) => {
    const { body } = await transport.request({ method: 'GET', path, headers: {} });
    return (await readAll(body)).toString();
  };
  for (const [endpoint, own, last] of [
    ['healthz', [], []],
    ['livez', [], []],
    ['readyz', ['informer-sync'], ['shutdown']],
  ] as const) {
    const names = ['ping', 'log', 'etcd', ...own, ...startupChecks, ...last];
    const lines = [...names.map((name) => `[+]${name} ok`), `${endpoint} check passed`, ''];
    t.same((await read(`/${endpoint}?verbose`)).split('\n'), lines);
  }
  t.equal(await read('/healthz/poststarthook/rbac/bootstrap-roles'), 'ok');
});

t.test('flow schemas report whether their priority level exists', async (t) => {
  const schemas = server.client.resource(flowschemas);
  const until = async (name: string, status: string) => {
    for (;;) {
      const { conditions = [] } = (await schemas.get(name)).status ?? {};
      if (conditions.some((condition) => condition.type === 'Dangling' && condition.status === status))
        return conditions;
      await realClock.sleep(20);
    }
  };
  t.match(await until('catch-all', 'False'), [{ reason: 'Found' }]);
  const spec = { priorityLevelConfiguration: { name: 'none' }, matchingPrecedence: 900 };
  await schemas.create({ metadata: { name: 'lost' }, spec });
  t.match(await until('lost', 'True'), [{ reason: 'NotFound', message: /but there is no such object$/ }]);
});

t.test('aggregated roles are left to the controller manager', async (t) => {
  const roles = server.client.resource(clusterroles);
  t.equal((await roles.get('view')).rules, undefined);
});
