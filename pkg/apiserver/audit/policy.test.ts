import t from 'tap';
import { type AuditedInfo, type PolicyRule, PolicyRules } from '#apiserver/audit/policy.js';

const alice = { name: 'alice', groups: ['admins', 'people'] };
const pods: AuditedInfo = {
  resourceRequest: true,
  verb: 'get',
  path: '/api/v1/namespaces/web/pods/p/log',
  group: '',
  resource: 'pods',
  subresource: 'log',
  namespace: 'web',
  name: 'p',
};
const nodes = { ...pods, resource: 'nodes', subresource: '', namespace: '', name: 'n' };
const path = { ...pods, resourceRequest: false, path: '/healthz/etcd', resource: '', subresource: '', namespace: '' };

const rows: [name: string, rule: Omit<PolicyRule, 'level'>, info: AuditedInfo, matches: boolean][] = [
  ['everything', {}, pods, true],
  ['a user', { users: ['alice'] }, pods, true],
  ['another user', { users: ['bob'] }, pods, false],
  ['a group', { userGroups: ['x', 'people'] }, pods, true],
  ['another group', { userGroups: ['x'] }, pods, false],
  ['a verb', { verbs: ['get'] }, pods, true],
  ['another verb', { verbs: ['list'] }, pods, false],
  ['a namespace', { namespaces: ['web'] }, pods, true],
  ['another namespace', { namespaces: ['shop'] }, pods, false],
  ['no namespace', { namespaces: [''] }, nodes, true],
  ['a namespace, for a plain path', { namespaces: [''] }, path, false],
  ['a group of resources', { resources: [{ group: '' }] }, pods, true],
  ['another group of resources', { resources: [{ group: 'apps' }] }, pods, false],
  ['a resource does not match its subresources', { resources: [{ resources: ['pods'] }] }, pods, false],
  ['a subresource', { resources: [{ resources: ['pods/log'] }] }, pods, true],
  ['all subresources', { resources: [{ resources: ['pods/*'] }] }, pods, true],
  ['all subresources, and the resource itself', { resources: [{ resources: ['nodes/*'] }] }, nodes, true],
  ['one subresource of all resources', { resources: [{ resources: ['*/log'] }] }, pods, true],
  ['all resources', { resources: [{ resources: ['*'] }] }, pods, true],
  ['a name', { resources: [{ resources: ['*'], resourceNames: ['p'] }] }, pods, true],
  ['another name', { resources: [{ resources: ['*'], resourceNames: ['q'] }] }, pods, false],
  ['resources, for a plain path', { resources: [{}] }, path, false],
  ['a path', { nonResourceURLs: ['/healthz/etcd'] }, path, true],
  ['the beginning of a path', { nonResourceURLs: ['/healthz*'] }, path, true],
  ['all paths', { nonResourceURLs: ['*'] }, path, true],
  ['another path', { nonResourceURLs: ['/livez*'] }, path, false],
  ['plain paths, for a resource', { nonResourceURLs: ['*'] }, pods, false],
];

t.test('rules match requests', async (t) => {
  for (const [name, rule, info, matches] of rows) {
    const rules = new PolicyRules({ rules: [{ ...rule, level: 'Metadata' }] });
    t.equal(rules.recordingOf(info, alice).level, matches ? 'Metadata' : 'None', name);
  }
});

t.test('the first matching rule counts', async (t) => {
  const rules = new PolicyRules({
    rules: [
      { level: 'Request', verbs: ['list'], omitStages: ['ResponseStarted'], omitManagedFields: false },
      { level: 'Metadata' },
    ],
    omitStages: ['RequestReceived'],
    omitManagedFields: true,
  });
  const first = rules.recordingOf({ ...pods, verb: 'list' }, undefined);
  t.same(
    [first.level, [...first.omitStages], first.omitManagedFields],
    ['Request', ['RequestReceived', 'ResponseStarted'], false],
  );
  const second = rules.recordingOf(pods, undefined);
  t.same([second.level, [...second.omitStages], second.omitManagedFields], ['Metadata', ['RequestReceived'], true]);
});
