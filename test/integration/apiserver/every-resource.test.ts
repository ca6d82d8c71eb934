/** Every resource has a test; a sample in the other dialect; and resources that are not stored. */
import t from 'tap';
import { tokenreviews } from '#api/authentication/v1/resources.gen.js';
import {
  localsubjectaccessreviews,
  selfsubjectaccessreviews,
  selfsubjectrulesreviews,
  subjectaccessreviews,
} from '#api/authorization/v1/resources.gen.js';
import { bindings, componentstatuses, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { nodes as nodeMetrics, pods as podMetrics } from '#api/metrics/v1beta1/resources.gen.js';
import { schemeFor } from '#api/scheme.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { eventually } from '#test/e2e/harness.js';
import { everyCase } from '#test/integration/apiserver/resources/every-case.js';
import { testResources } from '#test/integration/apiserver/resources/exercise.js';

const virtual: readonly ResourceDeclaration[] = [
  bindings,
  componentstatuses,
  localsubjectaccessreviews,
  nodeMetrics,
  podMetrics,
  selfsubjectaccessreviews,
  selfsubjectrulesreviews,
  subjectaccessreviews,
  tokenreviews,
];
const keyOf = ({ group, version, resource }: ResourceDeclaration) => `${group}/${version}/${resource}`;

t.test('every resource has a row', async (t) => {
  const rows = [...everyCase.map(({ resource }) => resource), ...virtual].map(keyOf).sort();
  const declared = schemeFor(orchDialect)
    .resources.map(({ declaration }) => keyOf(declaration))
    .sort();
  t.same(rows, declared);
});

const sample = new Set([
  'pods',
  'deployments',
  'cronjobs',
  'roles',
  'ingresses',
  'certificatesigningrequests',
  'leases',
]);
testResources(
  t,
  everyCase.filter(({ resource }) => sample.has(resource.resource)),
  orchDialect,
);

for (const dialect of ['orch', 'kubernetes'] as const) {
  t.test(`operations, ${dialect} dialect`, { timeout: 300_000 }, async (t) => {
    const cluster = await startCluster({ dialect, nodes: 0 });
    t.teardown(() => cluster.close());
    const { client } = cluster;
    const jane = cluster.clientAs('jane', ['system:authenticated']);
    t.teardown(() => jane.close());
    const accounts = client.resource(serviceaccounts);
    await eventually('the namespace has its account', () => accounts.get('default', { namespace: 'default' }));
    const metadata = {};
    const inDefault = { namespace: 'default' };
    const list = { verb: 'list', resource: 'pods', namespace: 'default' };

    const token = await accounts.createSubresource<object, { status: { token: string } }>(
      'default',
      'token',
      { metadata, spec: { expirationSeconds: 3600 } },
      inDefault,
    );
    t.match(token.status.token, /^[\w-]+\.[\w-]+\.[\w-]+$/, 'a token request');
    const reviewed = await client.resource(tokenreviews).create({ metadata, spec: { token: token.status.token } });
    const username = 'system:serviceaccount:default:default';
    t.match(reviewed.status, { authenticated: true, user: { username } }, 'a token review');
    const unknown = await client.resource(tokenreviews).create({ metadata, spec: { token: 'x.y.z' } });
    t.notOk(unknown.status?.authenticated, 'a foreign token');

    const access = client.resource(subjectaccessreviews);
    const groups = [cluster.dialect.groups.masters];
    t.match((await access.create({ metadata, spec: { user: 'a', groups, resourceAttributes: list } })).status, {
      allowed: true,
    });
    t.match((await access.create({ metadata, spec: { user: 'jane', resourceAttributes: list } })).status, {
      allowed: false,
    });
    const incomplete = { metadata, spec: { resourceAttributes: list } };
    const refused = await access.create(incomplete).then(() => undefined, statusOf);
    t.match(refused, { code: 422, details: { causes: [{}] } }, 'a review without a user');
    const local = client.resource(localsubjectaccessreviews);
    const spec = { user: 'jane', resourceAttributes: list };
    t.match((await local.create({ metadata: inDefault, spec })).status, { allowed: false });
    const own = jane.resource(selfsubjectaccessreviews);
    t.match((await own.create({ metadata, spec: { resourceAttributes: list } })).status, { allowed: false });
    const rules = await jane.resource(selfsubjectrulesreviews).create({ metadata, spec: inDefault });
    t.match(rules.status, { nonResourceRules: [{}], resourceRules: [{}] }, 'what she may do');

    const podMetadata = { name: 'p', namespace: 'default' };
    await client.resource(pods).create({ metadata: podMetadata, spec: { containers: [{ name: 'c', image: 'i' }] } });
    await client.resource(bindings).create({ metadata: podMetadata, target: { kind: 'Node', name: 'n1' } });
    t.equal((await client.resource(pods).get('p', inDefault)).spec.nodeName, 'n1', 'a binding');
    const eviction = { metadata: podMetadata };
    await client.resource(pods).createSubresource('p', 'eviction', eviction, inDefault);
    const evicted = await client
      .resource(pods)
      .get('p', inDefault)
      .catch(() => undefined);
    t.ok(evicted === undefined || evicted.metadata.deletionTimestamp !== undefined, 'an eviction');
    t.match(await client.resource(componentstatuses).list(), { kind: 'ComponentStatusList' });
  });
}
