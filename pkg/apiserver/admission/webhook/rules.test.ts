import t from 'tap';
import type { RuleWithOperations } from '#api/admissionregistration/v1/types.gen.js';
import { concernsResource, matchesRule } from '#apiserver/admission/webhook/rules.js';

const all: RuleWithOperations = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] };
const pod = { group: '', version: 'v1', resource: 'pods' };
const request = { operation: 'CREATE', subresource: '', namespaced: true } as const;

const rows: [name: string, rule: Partial<RuleWithOperations>, subresource: string, matches: boolean][] = [
  ['everything', {}, '', true],
  ['everything is not what is below', {}, 'status', false],
  ['really everything', { resources: ['*/*'] }, 'status', true],
  ['really everything, and the resource itself', { resources: ['*/*'] }, '', true],
  ['any resource’s status', { resources: ['*/status'] }, 'status', true],
  ['any resource’s status, and another one', { resources: ['*/status'] }, 'exec', false],
  ['any resource’s status is not the resource', { resources: ['*/status'] }, '', false],
  ['all below pods', { resources: ['pods/*'] }, 'exec', true],
  ['pods and all below them', { resources: ['pods/*'] }, '', true],
  ['pods', { resources: ['pods'] }, '', true],
  ['pods are not what is below', { resources: ['pods'] }, 'exec', false],
  ['one of several', { resources: ['nodes', 'pods/exec'] }, 'exec', true],
  ['another resource', { resources: ['nodes', 'nodes/*'] }, '', false],
  ['its group', { apiGroups: [''] }, '', true],
  ['another group', { apiGroups: ['apps'] }, '', false],
  ['its version', { apiVersions: ['v2', 'v1'] }, '', true],
  ['another version', { apiVersions: ['v2'] }, '', false],
  ['its operation', { operations: ['DELETE', 'CREATE'] }, '', true],
  ['another operation', { operations: ['DELETE'] }, '', false],
  ['its scope', { scope: 'Namespaced' }, '', true],
  ['any scope', { scope: '*' }, '', true],
  ['another scope', { scope: 'Cluster' }, '', false],
  ['nothing', { resources: [] }, '', false],
  ['no operations', { operations: [] }, '', false],
];

t.test('rules match requests', async (t) => {
  for (const [name, rule, subresource, matches] of rows) {
    t.equal(matchesRule({ ...all, ...rule }, pod, { ...request, subresource }), matches, name);
    if (matches) t.ok(concernsResource({ ...all, ...rule }, pod), `${name}: the rule concerns the resource`);
  }
});

t.test('scopes of cluster-wide objects', async (t) => {
  for (const [scope, matches] of [
    ['Cluster', true],
    ['Namespaced', false],
    ['*', true],
    [undefined, true],
  ] as const) {
    const rule = scope === undefined ? all : { ...all, scope };
    t.equal(
      matchesRule(rule, { ...pod, resource: 'nodes' }, { ...request, namespaced: false }),
      matches,
      scope ?? 'none',
    );
  }
});

t.test('rules concern only the resources that they name', async (t) => {
  t.notOk(concernsResource({ ...all, resources: ['nodes'] }, pod));
  t.notOk(concernsResource({ ...all, apiGroups: ['apps'] }, pod));
  t.ok(concernsResource({ ...all, resources: ['pods/status'] }, pod), 'a subresource may match');
});
