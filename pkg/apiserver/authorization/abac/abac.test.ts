/** The messages were recorded from kube-apiserver 1.24.17. */
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { AbacAuthorizer } from '#apiserver/authorization/abac/policy.js';
import { parsePolicyFile } from '#apiserver/authorization/abac/policy-file.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

const beta = (spec: object, dialect: Dialect = kubernetesDialect) =>
  JSON.stringify({ apiVersion: `abac.authorization.${dialect.labelDomain}/v1beta1`, kind: 'Policy', spec });

const user = (name: string, ...groups: string[]): UserInfo => ({
  name,
  groups: [...groups, kubernetesDialect.groups.authenticated],
});

/** `get apps/deployments ns/a` or `get /path`. */
function ask(text: string, by: UserInfo): AuthorizationAttributes {
  const [verb = '', what = '', where = ''] = text.split(' ');
  const isPath = what.startsWith('/');
  const [group = '', resource = ''] = isPath ? [] : what.split('/');
  const [namespace = '', name = ''] = where.split('/');
  const own = { user: by, verb, resourceRequest: !isPath, path: isPath ? what : '' };
  return { ...own, group: group === 'core' ? '' : group, version: 'v1', resource, subresource: '', namespace, name };
}

function decides(line: string, text: string, by: UserInfo): boolean {
  const { policies } = parsePolicyFile(line, 'file', kubernetesDialect);
  return new AbacAuthorizer(policies).authorize(ask(text, by)).decision === 'allow';
}

t.test('which requests a policy allows', (t) => {
  const alice = user('alice', 'dev');
  const anonymous: UserInfo = { name: 'system:anonymous', groups: [kubernetesDialect.groups.unauthenticated] };
  const podsOfAlice = beta({ user: 'alice', resource: 'pods', namespace: 'ns' });
  const rows: readonly (readonly [line: string, request: string, by: UserInfo, allowed: boolean])[] = [
    [podsOfAlice, 'delete core/pods ns/a', alice, true],
    [podsOfAlice, 'delete core/pods ns/a', user('bob'), false],
    [podsOfAlice, 'get core/pods other/a', alice, false],
    [podsOfAlice, 'list core/pods', alice, false],
    [podsOfAlice, 'get core/secrets ns/a', alice, false],
    [podsOfAlice, 'get apps/pods ns/a', alice, false],
    [podsOfAlice, 'get /healthz', alice, false],
    [beta({ user: 'alice', resource: '*', namespace: '*', apiGroup: '*' }), 'list apps/deployments', alice, true],
    [beta({ user: 'alice', resource: '*', namespace: '*', apiGroup: '*' }), 'get /healthz', alice, false],
    [beta({ user: 'alice', readonly: true, resource: 'pods', namespace: 'ns' }), 'watch core/pods ns', alice, true],
    [beta({ user: 'alice', readonly: true, resource: 'pods', namespace: 'ns' }), 'create core/pods ns', alice, false],
    [beta({ group: 'dev', resource: 'pods', namespace: 'ns' }), 'get core/pods ns/a', alice, true],
    [beta({ group: 'ops', resource: 'pods', namespace: 'ns' }), 'get core/pods ns/a', alice, false],
    [beta({ user: 'alice', group: 'ops', resource: 'pods', namespace: 'ns' }), 'get core/pods ns/a', alice, false],
    [beta({ user: 'alice', group: 'dev', resource: 'pods', namespace: 'ns' }), 'get core/pods ns/a', alice, true],
    [beta({ user: '*', resource: 'pods', namespace: 'ns' }), 'get core/pods ns/a', user('bob'), true],
    [beta({ user: '*', resource: 'pods', namespace: 'ns' }), 'get core/pods ns/a', anonymous, false],
    [beta({ group: '*', resource: 'pods', namespace: 'ns' }), 'get core/pods ns/a', anonymous, false],
    [beta({ resource: 'pods', namespace: 'ns' }), 'get core/pods ns/a', alice, false],
    [beta({ user: 'alice', nonResourcePath: '/healthz' }), 'get /healthz', alice, true],
    [beta({ user: 'alice', nonResourcePath: '/healthz' }), 'get /healthz/etcd', alice, false],
    [beta({ user: 'alice', nonResourcePath: '/healthz/*' }), 'get /healthz/etcd', alice, true],
    [beta({ user: 'alice', nonResourcePath: '/healthz/*' }), 'get /healthz', alice, false],
    [beta({ user: 'alice', nonResourcePath: '/health**' }), 'get /healthz', alice, true],
    [beta({ user: 'alice', nonResourcePath: '*', readonly: true }), 'post /logs', alice, false],
    [beta({ user: 'alice', nonResourcePath: '*' }), 'post /logs', alice, true],
    [beta({ user: 'alice', nonResourcePath: '*' }), 'get core/pods ns/a', alice, false],
    ['{"user":"alice"}', 'delete apps/deployments ns/a', alice, true],
    ['{"user":"alice"}', 'get /healthz', alice, true],
    ['{"user":"alice","resource":"pods"}', 'get /healthz', alice, false],
    ['{"user":"alice","resource":"pods"}', 'get core/pods ns/a', alice, true],
    ['{"resource":"pods","readonly":true}', 'get core/pods ns/a', user('bob'), true],
    ['{"resource":"pods","readonly":true}', 'get core/pods ns/a', anonymous, false],
    ['{"group":"*","namespace":"ns"}', 'get core/pods ns/a', user('bob'), true],
    ['{"group":"*","namespace":"ns"}', 'get core/pods other/a', user('bob'), false],
    ['{"apiVersion":"abac.authorization.kubernetes.io/v0","kind":"Policy","user":"alice"}', 'get /x', alice, true],
    ['user: alice', 'get /healthz', alice, true],
    ['{"kind":"Policy","spec":{"user":"bob"}}', 'get /healthz', alice, true],
    ['null', 'get /healthz', alice, true],
    [beta({ user: 'alice', resource: null, nonResourcePath: '/x', more: 1 }), 'get /x', alice, true],
    [beta({ User: 'alice', nonResourcePath: '/x' }), 'get /x', alice, false],
  ];
  for (const [line, request, by, allowed] of rows) {
    t.equal(decides(line, request, by), allowed, `${line}: ${by.name} ${request}`);
  }
  t.end();
});

t.test('the first policy that matches counts, and none is no opinion', (t) => {
  const text = [
    '# comment',
    '',
    beta({ user: 'bob', nonResourcePath: '/b' }),
    `${beta({ user: 'alice', nonResourcePath: '/a' })}\r`,
  ].join('\n');
  const { policies, unversioned } = parsePolicyFile(text, 'file', kubernetesDialect);
  t.equal(unversioned, false);
  const authorizer = new AbacAuthorizer(policies);
  t.same(authorizer.authorize(ask('get /a', user('alice'))), { decision: 'allow', reason: '' });
  t.same(authorizer.authorize(ask('get /b', user('alice'))), { decision: 'noOpinion', reason: 'No policy matched.' });
  t.equal(parsePolicyFile('{"user":"a"}', 'file', kubernetesDialect).unversioned, true);
  t.end();
});

t.test('the rules of a user', (t) => {
  const { policies } = parsePolicyFile(
    [
      beta({ user: 'alice', resource: 'pods', namespace: 'ns', readonly: true }),
      beta({ user: 'alice', resource: '*', apiGroup: 'apps', namespace: '*', nonResourcePath: '/x' }),
      beta({ user: 'alice', resource: 'secrets', namespace: 'other' }),
      beta({ user: 'bob', resource: '*', apiGroup: '*', namespace: '*' }),
    ].join('\n'),
    'file',
    kubernetesDialect,
  );
  t.same(new AbacAuthorizer(policies).rulesFor(user('alice'), 'ns'), {
    rules: [
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['*'], apiGroups: ['apps'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['/x'] },
    ],
    errors: [],
    incomplete: false,
  });
  t.end();
});

t.test('lines that are not policies end the start', (t) => {
  const versionAndKind =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  const scheme = 'in scheme "pkg/runtime/scheme.go:100"';
  const parseError = "couldn't get version/kind; json parse error:";
  const group = 'abac.authorization.kubernetes.io';
  const rows: readonly (readonly [line: string, why: string])[] = [
    ['{bad', `${parseError} invalid character 'b' looking for beginning of object key string`],
    ['{"user":}', `${parseError} invalid character '}' looking for beginning of value`],
    ['{"user":"a"} x', `${parseError} invalid character 'x' after top-level value`],
    ['{"user":"a"', `${parseError} unexpected end of JSON input`],
    ['[1]', `${parseError} json: cannot unmarshal array into Go value of type ${versionAndKind}`],
    ['hello', `${parseError} json: cannot unmarshal string into Go value of type ${versionAndKind}`],
    ['{"kind":1}', `${parseError} json: cannot unmarshal number into Go struct field .kind of type string`],
    ['{"user":1}', 'json: cannot unmarshal number into Go struct field Policy.user of type string'],
    ['{"kind":"Policy","user":true}', 'json: cannot unmarshal bool into Go struct field Policy.user of type string'],
    ['{"readonly":1}', 'json: cannot unmarshal number into Go struct field Policy.readonly of type bool'],
    [beta({ user: 1 }), 'json: cannot unmarshal number into Go struct field PolicySpec.spec.user of type string'],
    [
      beta({ readonly: 'yes' }),
      'json: cannot unmarshal string into Go struct field PolicySpec.spec.readonly of type bool',
    ],
    [
      `{"apiVersion":"${group}/v1beta1","kind":"Policy","spec":"x"}`,
      'json: cannot unmarshal string into Go struct field Policy.spec of type v1beta1.PolicySpec',
    ],
    [
      `{"apiVersion":"${group}/v1beta1","kind":"Pod"}`,
      `no kind "Pod" is registered for version "${group}/v1beta1" ${scheme}`,
    ],
    [
      `{"apiVersion":"${group}/v2","kind":"Policy"}`,
      `no kind "Policy" is registered for version "${group}/v2" ${scheme}`,
    ],
    ['{"apiVersion":"v1","kind":"Pod"}', `no kind "Pod" is registered for version "v1" ${scheme}`],
    ['{"kind":"Pod"}', `no kind "Pod" is registered for version "${group}/v0" ${scheme}`],
    ['{"apiVersion":"a/b/c","kind":"Policy"}', 'unexpected GroupVersion string: a/b/c'],
    [
      `{"apiVersion":"${group}/v1beta1","spec":{"user":"a"}}`,
      'converting (v1beta1.Policy) to (v0.Policy): unknown conversion',
    ],
  ];
  for (const [line, why] of rows) {
    const text = `# comment\n\n${line}\n`;
    t.throws(() => parsePolicyFile(text, '/f', kubernetesDialect), {
      message: `error reading policy file /f, line 3: ${line}: ${why}`,
    });
  }
  t.throws(() => parsePolicyFile(`#${'x'.repeat(65_536)}`, '/f', kubernetesDialect), {
    message: 'error reading policy file /f: bufio.Scanner: token too long',
  });
  t.throws(() => parsePolicyFile(beta({ user: 'a' }), '/f', orchDialect), {
    message: /no kind "Policy" is registered/,
  });
  t.equal(parsePolicyFile(beta({ user: 'a' }, orchDialect), '/f', orchDialect).policies.length, 1);
  t.end();
});
