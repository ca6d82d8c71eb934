/** The largest roles, bindings and limit ranges that a tenant can store in a namespace. */
import { generateKeyPairSync } from 'node:crypto';
import { limitranges, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { PolicyRule, RoleBinding } from '#api/rbac/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { LimitRanger } from '#apiserver/admission/limit-ranger.js';
import { RbacEscalation } from '#apiserver/admission/rbac-escalation.js';
import { tokenReviews } from '#apiserver/authentication/token-review.js';
import { PrivilegedGroupAuthorizer, UnionAuthorizer } from '#apiserver/authorization/authorize.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { accessReviews } from '#apiserver/authorization/reviews.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import { TokenIssuer } from '#apiserver/serviceaccount/token-issuer.js';
import { tokenRequests } from '#apiserver/subresources/service-account-token.js';
import { jwtSigningKey } from '#pki/jwt.js';
import type { CostRequest } from '#test/fuzz/cost/meter.js';
import type { Shape } from '#test/fuzz/cost/shapes.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

const namespace = 'default';
const core = `/api/v1/namespaces/${namespace}`;
const groupPath = (key: 'rbac' | 'authorization' | 'authentication') => `/apis/${dialect.groupName(key)}/v1`;
const rbacGroup = dialect.groupName('rbac');
const times = 500;
const counted = <T>(size: number, part: (i: number) => T): T[] => Array.from({ length: size }, (_, i) => part(i));

/** A server in which alice has rights in one namespace through bindings that the shapes create. */
export async function tenantServer() {
  const reader = new MemoryObjectReader();
  const index = new RbacIndex();
  await index.start(reader, new AbortController().signal);
  const rbac = new RbacAuthorizer(index, dialect);
  const authorizer = new UnionAuthorizer([new PrivilegedGroupAuthorizer([dialect.groups.masters]), rbac]);
  const reviews: VirtualResource[] = accessReviews({ dialect, authorizer, rules: rbac });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = new TokenIssuer({
    dialect,
    reader,
    clock: realClock,
    issuer: 'https://issuer.example',
    key: jwtSigningKey(privateKey),
    audiences: ['api'],
    extendExpiration: false,
  });
  const tokens = { authenticateToken: async () => ({ name: 'bob', groups: [] }) };
  const users = {
    authenticate: async ({ headers }: { readonly headers: Readonly<Record<string, string | undefined>> }) =>
      headers['x-user'] === undefined
        ? { name: 'root', groups: [dialect.groups.masters] }
        : { name: headers['x-user'], groups: [dialect.groups.authenticated] },
  };
  const { server, stop } = await runServer({
    unfrozen: true,
    dialect,
    dependencies: {
      authenticator: users,
      authorizer,
      admission: [new LimitRanger({ dialect, reader }), new RbacEscalation({ dialect, index, rbac, authorizer })],
      virtualResources: [
        ...reviews,
        tokenReviews({ dialect, tokens, audiences: ['api'] }),
        tokenRequests({ dialect, issuer, reader }),
      ],
    },
  });
  await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } });
  reader.put(serviceaccounts, { metadata: { name: 'a', namespace } });
  // Allows alice to list rules and write roles, but grants her nothing to delegate.
  reader.put(clusterroles, {
    metadata: { name: 'basic' },
    rules: [
      { verbs: ['create'], apiGroups: [rbacGroup], resources: ['roles', 'rolebindings'] },
      { verbs: ['create'], apiGroups: [dialect.groupName('authorization')], resources: ['selfsubjectrulesreviews'] },
    ],
  });
  const basicRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'basic' };
  reader.put(clusterrolebindings, { metadata: { name: 'basic' }, roleRef: basicRef, subjects: [alice] });
  return { server, stop, shapes: tenantShapes(reader) };
}

const alice = { kind: 'User', apiGroup: rbacGroup, name: 'alice' };

/** As alice unless `user` is set. */
function send(url: string, body?: object, user?: string): CostRequest {
  const method = body === undefined ? 'GET' : 'POST';
  const headers = { 'content-type': 'application/json', ...(user === undefined ? {} : { 'x-user': user }) };
  return { method, url, headers, body: Buffer.from(body === undefined ? '' : JSON.stringify(body)) };
}

function tenantShapes(reader: MemoryObjectReader): Shape[] {
  const bind = (subjects: RoleBinding['subjects'], name = 'b', role = 'r') =>
    reader.put(rolebindings, {
      metadata: { name, namespace },
      roleRef: { apiGroup: rbacGroup, kind: 'Role', name: role },
      ...(subjects && { subjects }),
    });
  /** The only role of the namespace, and alice's bindings to it. */
  const role = (rules: PolicyRule[], bindings = 1) => {
    reader.put(roles, { metadata: { name: 'r', namespace }, rules });
    for (let i = 0; i < bindings; i++) bind([alice], `b${i}`);
    for (let i = bindings; i < most; i++) reader.remove(rolebindings, namespace, `b${i}`);
    reader.remove(rolebindings, namespace, 'b');
  };
  const most = 4000;
  const right = (more: Partial<PolicyRule> = {}): PolicyRule => ({
    verbs: ['get'],
    apiGroups: [''],
    resources: ['configmaps'],
    ...more,
  });
  const reading = (name: string, size: number, prepare: (size: number) => void): Shape => ({
    name: `a read of who has ${name}`,
    size,
    flat: true,
    times,
    prepare,
    request: () => send(`${core}/configmaps/a`, undefined, 'alice'),
  });
  const asks = (name: string, url: string, size: number, body: (size: number) => object): Shape => ({
    name,
    size,
    request: (n) => send(url, body(n)),
  });
  const access = (name: string, spec: (size: number) => object): Shape =>
    asks(`an access review of ${name}`, `${groupPath('authorization')}/subjectaccessreviews`, 50_000, (size) => ({
      spec: { user: 'bob', resourceAttributes: { verb: 'get', resource: 'pods', namespace }, ...spec(size) },
    }));
  const writesRole = (
    name: string,
    owned: (size: number) => PolicyRule[],
    requestedRules: (size: number) => PolicyRule[],
  ) => ({
    name: `a role of ${name}`,
    size: 4000,
    prepare: (size: number) => role(owned(size)),
    request: (size: number) =>
      send(
        `${groupPath('rbac')}/namespaces/${namespace}/roles?dryRun=All`,
        { metadata: { name: 'new' }, rules: requestedRules(size) },
        'alice',
      ),
  });
  return [
    reading('a role of many rules', 15_000, (size) =>
      role(counted(size, (i) => right({ resources: [`things${i}`], verbs: ['get', 'list'] }))),
    ),
    reading('a role of many names', 50_000, (size) => role([right({ resourceNames: counted(size, (i) => `a${i}`) })])),
    reading('a role of many resources', 50_000, (size) => role([right({ resources: counted(size, (i) => `a${i}`) })])),
    reading('many bindings to one role', 1000, (size) =>
      role(
        counted(1000, (i) => right({ verbs: [`v${i}`] })),
        size,
      ),
    ),
    reading('a binding for many', 20_000, (size) => {
      role([right()], 0);
      bind([...counted(size, (i) => ({ kind: 'User', apiGroup: rbacGroup, name: `u${i}` })), alice]);
    }),
    {
      name: 'the rules of who has many bindings',
      size: 1000,
      prepare: (size) =>
        role(
          counted(1000, (i) => right({ resourceNames: [`a${i}`] })),
          size,
        ),
      request: () => send(`${groupPath('authorization')}/selfsubjectrulesreviews`, { spec: { namespace } }, 'alice'),
    },
    writesRole(
      'one rule for each of the own ones',
      (size) => counted(size, (i) => right({ resourceNames: [`a${i}`] })),
      (size) => counted(size, (i) => right({ resourceNames: [`a${i}`] })),
    ),
    writesRole(
      'rules for all resources',
      (size) => counted(size, (i) => right({ resources: ['*'], verbs: [`v${i}`] })),
      (size) => counted(size, (i) => right({ verbs: [`w${i}`] })),
    ),
    writesRole(
      'names, of which each rule has one',
      (size) => counted(size, (i) => right({ resources: ['*'], resourceNames: [`a${i}`] })),
      (size) => counted(10, () => right({ resourceNames: counted(size, (i) => `a${i}`) })),
    ),
    access('many groups', (size) => ({ groups: counted(size, (i) => `g${i}`) })),
    access('many extras', (size) => ({ extra: Object.fromEntries(counted(size / 2, (i) => [`k${i}`, ['v']])) })),
    access('much of one extra', (size) => ({ extra: { k: counted(size, (i) => `v${i}`) } })),
    {
      ...access('the groups of a binding', (size) => ({ groups: counted(size, (i) => `g${i}`) })),
      size: 10_000,
      prepare: (size) => {
        role(
          counted(1000, (i) => right({ verbs: [`v${i}`] })),
          0,
        );
        bind(counted(size, (i) => ({ kind: 'Group', apiGroup: rbacGroup, name: `g${i}` })));
      },
    },
    asks('a review of a long token', `${groupPath('authentication')}/tokenreviews`, 200_000, (size) => ({
      spec: { token: `${'e30.'.repeat(size)}` },
    })),
    asks('a review of a token with long claims', `${groupPath('authentication')}/tokenreviews`, 50_000, (size) => {
      const claims = Buffer.from(JSON.stringify({ aud: counted(size, (i) => `a${i}`) })).toString('base64url');
      return { spec: { token: `e30.${claims}.e30`, audiences: counted(size, (i) => `a${i}`) } };
    }),
    asks('a token for many audiences', `${core}/serviceaccounts/a/token`, 50_000, (size) => ({
      spec: { audiences: counted(size, (i) => `a${i}`) },
    })),
    {
      name: 'a pod under a limit range of many amounts',
      size: 1500,
      prepare: (size) =>
        reader.put(limitranges, {
          metadata: { name: 'l', namespace },
          spec: {
            limits: [
              {
                type: 'Container',
                default: Object.fromEntries(counted(size, (i) => [`a.b/k${i}`, '1'])),
                max: Object.fromEntries(counted(size, (i) => [`a.b/k${i}`, '1'])),
              },
            ],
          },
        }),
      request: (size) =>
        send(`${core}/pods?dryRun=All`, {
          metadata: { name: 'p' },
          spec: { containers: counted(size, (i) => ({ name: `c${i}`, image: 'i' })) },
        }),
    },
    {
      name: 'impersonation of many groups',
      size: 500,
      request: (size) => ({
        method: 'GET',
        url: `${core}/configmaps`,
        headers: { 'impersonate-user': 'bob', 'impersonate-group': counted(size, (i) => `g${i}`).join(', ') },
      }),
    },
    {
      name: 'impersonation of many extras',
      size: 500,
      request: (size) => ({
        method: 'GET',
        url: `${core}/configmaps`,
        headers: {
          'impersonate-user': 'bob',
          ...Object.fromEntries(counted(size, (i) => [`impersonate-extra-k${i}`, 'v'])),
        },
      }),
    },
  ];
}
