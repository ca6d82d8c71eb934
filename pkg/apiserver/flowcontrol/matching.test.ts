import t from 'tap';
import type { FlowSchema, PolicyRulesWithSubjects, Subject } from '#api/flowcontrol/v1beta2/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { bootstrapFlowSchemas } from '#apiserver/bootstrap/flow-control.js';
import { type Digest, inOrder, matchesSchema } from '#apiserver/flowcontrol/matching.js';
import { requestInfo } from '#apiserver/http/request-info.js';

const digest = (method: string, url: string, name: string, groups: readonly string[] = []): Digest => ({
  info: requestInfo({ method, url }),
  user: { name, groups },
});
const schema = (...rules: PolicyRulesWithSubjects[]): FlowSchema => ({
  metadata: { name: 's' },
  spec: { priorityLevelConfiguration: { name: 'l' }, rules },
});
const resources = {
  verbs: ['get', 'list'],
  apiGroups: ['', 'apps'],
  resources: ['pods', 'deployments/status'],
  namespaces: ['web', 'db'],
};
const account = (namespace: string, name: string): Subject => ({
  kind: 'ServiceAccount',
  serviceAccount: { namespace, name },
});
const jane: Subject = { kind: 'User', user: { name: 'jane' } };
const everything = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};

t.test('subjects', async (t) => {
  const rows: readonly (readonly [subject: Subject, user: string, groups: readonly string[], matches: boolean])[] = [
    [jane, 'jane', [], true],
    [jane, 'bob', ['jane'], false],
    [{ kind: 'User', user: { name: '*' } }, 'bob', [], true],
    [{ kind: 'User' }, 'bob', [], false],
    [{ kind: 'Group', group: { name: 'g' } }, 'bob', ['f', 'g'], true],
    [{ kind: 'Group', group: { name: 'g' } }, 'g', ['f'], false],
    [{ kind: 'Group', group: { name: '*' } }, 'bob', [], true],
    [account('web', 'app'), 'system:serviceaccount:web:app', [], true],
    [account('web', 'app'), 'system:serviceaccount:web:app2', [], false],
    [account('web', '*'), 'system:serviceaccount:web:any', [], true],
    [account('web', '*'), 'system:serviceaccount:web2:any', [], false],
    [account('web', '*'), 'web:any', [], false],
    [{ kind: 'Robot' }, 'bob', [], false],
  ];
  for (const [subject, user, groups, matches] of rows) {
    const result = matchesSchema(schema({ subjects: [subject], ...everything }), digest('GET', '/x', user, groups));
    t.equal(result, matches, `${JSON.stringify(subject)} and ${user} of ${groups}`);
  }
});

t.test('resources and paths', async (t) => {
  const one = schema({
    subjects: [jane],
    resourceRules: [resources, { verbs: ['*'], apiGroups: ['*'], resources: ['nodes'], clusterScope: true }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/a/*', '/b/'] }],
  });
  const rows: readonly (readonly [method: string, url: string, matches: boolean, why: string])[] = [
    ['GET', '/api/v1/namespaces/web/pods/a', true, 'all listed'],
    ['GET', '/api/v1/namespaces/web/pods', true, 'a list'],
    ['GET', '/api/v1/namespaces/web/pods?watch=1', false, 'the verb'],
    ['GET', '/api/v1/namespaces/other/pods/a', false, 'the namespace'],
    ['GET', '/api/v1/pods', false, 'all namespaces'],
    ['GET', '/api/v1/namespaces/web/pods/a/status', false, 'a subresource'],
    ['GET', '/apis/apps/v1/namespaces/db/deployments/a/status', true, 'a listed subresource'],
    ['GET', '/apis/batch/v1/namespaces/db/pods', false, 'the group'],
    ['DELETE', '/api/v1/nodes/n', true, 'cluster scope'],
    ['GET', '/healthz', true, 'a path'],
    ['GET', '/healthz/etcd', true, 'below a path, as in 1.24'],
    ['GET', '/healthzz', false, 'another path'],
    ['GET', '/a/b', true, 'a wildcard'],
    ['GET', '/b/c', true, 'a path that ends with a slash'],
    ['POST', '/healthz', false, 'the verb of a path'],
  ];
  for (const [method, url, matches, why] of rows)
    t.equal(matchesSchema(one, digest(method, url, 'jane')), matches, `${method} ${url}: ${why}`);
});

t.test('schemas are tried by precedence and name', async (t) => {
  const of = (name: string, matchingPrecedence: number) => ({
    metadata: { name },
    spec: { priorityLevelConfiguration: { name: 'l' }, matchingPrecedence },
  });
  const names = inOrder([of('b', 5), of('c', 1), of('a', 5)]).map(({ metadata }) => metadata.name);
  t.strictSame(names, ['c', 'a', 'b'], 'the lowest number first');
});

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`${dialect.name}: the default schemas`, async (t) => {
    const { groups, users, namespaces } = dialect;
    const all = [groups.authenticated];
    const lease = `/apis/${dialect.groupName('coordination')}/v1/namespaces/x/leases/a`;
    const own = `system:serviceaccount:${namespaces.system}:a`;
    const rows: readonly (readonly [Digest, string])[] = [
      [digest('GET', '/api/v1/pods', 'root', [groups.masters, ...all]), 'exempt'],
      [digest('GET', '/livez', 'system:anonymous', [groups.unauthenticated]), 'probes'],
      [digest('PUT', lease, users.scheduler, all), 'system-leader-election'],
      [digest('PUT', lease, own, [groups.serviceAccounts, ...all]), 'system-leader-election'],
      [digest('PUT', lease, 'system:node:n', [groups.nodes, ...all]), 'system-node-high'],
      [digest('PATCH', '/api/v1/nodes/n/status', 'system:node:n', [groups.nodes, ...all]), 'system-node-high'],
      [digest('GET', '/api/v1/pods', 'system:node:n', [groups.nodes, ...all]), 'system-nodes'],
      [digest('GET', '/api/v1/pods', own, [groups.serviceAccounts, ...all]), `${namespaces.system}-service-accounts`],
      [digest('GET', '/api/v1/pods', 'system:serviceaccount:x:a', [groups.serviceAccounts]), 'service-accounts'],
      [digest('GET', '/api/v1/pods', 'jane', all), 'global-default'],
    ];
    const schemas = inOrder(bootstrapFlowSchemas(dialect));
    for (const [request, name] of rows) {
      const first = schemas.find((each) => matchesSchema(each, request));
      t.equal(first?.metadata.name, name, `${request.info.verb} ${request.info.path} of ${request.user.name}`);
    }
  });
}
