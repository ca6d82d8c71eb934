/** The search for near bindings against a slow reference: which additions make the real authorizer allow the request. */
import t from 'tap';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  Subject,
} from '#api/rbac/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { explainAccess } from '#apiserver/authorization/explain/explanation.js';
import { type Lack, nearBindings } from '#apiserver/authorization/explain/near-bindings.js';
import { smallestGrant } from '#apiserver/authorization/explain/smallest-role.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';

const dialect = kubernetesDialect;
const verbs = ['get', 'list', 'delete'];
const groups = ['', 'apps'];
const resources = ['pods', 'pods/log', 'secrets'];
const names = ['a', 'b'];
const namespaces = ['ns', 'other'];
const paths = ['/healthz', '/metrics', '/metrics/x'];

interface Objects {
  readonly roles: Role[];
  readonly clusterRoles: ClusterRole[];
  readonly roleBindings: RoleBinding[];
  readonly clusterRoleBindings: ClusterRoleBinding[];
}

class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  one<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** Each with an even chance; sometimes all by a star. */
  some(items: readonly string[]): string[] {
    if (this.below(6) === 0) return ['*'];
    return items.filter(() => this.below(2) === 0);
  }

  rule(): PolicyRule {
    if (this.below(4) === 0) return { verbs: this.some(verbs), nonResourceURLs: [...this.some(paths), '/metrics/*'] };
    const own = {
      verbs: this.some(verbs),
      apiGroups: this.some(groups),
      resources: this.some([...resources, '*/log']),
    };
    return this.below(3) === 0 ? { ...own, resourceNames: this.some(names).filter((name) => name !== '*') } : own;
  }

  rules(): PolicyRule[] {
    return Array.from({ length: this.below(3) }, () => this.rule());
  }

  subjects(): Subject[] {
    return [
      { kind: 'User', name: 'alice' },
      { kind: 'User', name: 'bob' },
      { kind: 'Group', name: 'dev' },
      { kind: 'Group', name: 'ops' },
      { kind: 'ServiceAccount', name: 'robot', namespace: 'ns' },
    ].filter(() => this.below(4) === 0);
  }

  request(): AuthorizationAttributes {
    const user = this.one([
      { name: 'alice', groups: ['dev'] },
      { name: 'bob', groups: [] },
      { name: 'system:serviceaccount:ns:robot', groups: [] },
    ]);
    const empty = { user, version: '*', group: '', resource: '', subresource: '', namespace: '', name: '', path: '' };
    const verb = this.one(verbs);
    if (this.below(5) === 0) return { ...empty, verb, resourceRequest: false, path: this.one(paths) };
    const [resource = '', subresource = ''] = this.one(resources).split('/');
    const where = { namespace: this.one([...namespaces, '']), name: this.one([...names, '']) };
    return { ...empty, verb, resourceRequest: true, group: this.one(groups), resource, subresource, ...where };
  }

  objects(): Objects {
    const all: Objects = { roles: [], clusterRoles: [], roleBindings: [], clusterRoleBindings: [] };
    const ref = (kind: string) => ({ apiGroup: dialect.groupName('rbac'), kind, name: this.one(['r0', 'r1', 'gone']) });
    for (const name of ['r0', 'r1']) {
      all.clusterRoles.push({ metadata: { name }, rules: this.rules() });
      for (const namespace of namespaces) all.roles.push({ metadata: { name, namespace }, rules: this.rules() });
    }
    for (let i = 0; i < 3; i += 1) {
      const name = `b${i}`;
      all.clusterRoleBindings.push({ metadata: { name }, roleRef: ref('ClusterRole'), subjects: this.subjects() });
      const roleRef = ref(this.one(['Role', 'ClusterRole']));
      const metadata = { name, namespace: this.one(namespaces) };
      all.roleBindings.push({ metadata, roleRef, subjects: this.subjects() });
    }
    return all;
  }
}

/** The real authorizer's decision about one binding with one rule. */
async function allows(
  request: AuthorizationAttributes,
  { namespace, subjects, rule }: { namespace: string; subjects: readonly Subject[]; rule: PolicyRule },
): Promise<boolean> {
  const reader = new MemoryObjectReader();
  const roleRef = { apiGroup: dialect.groupName('rbac'), kind: 'ClusterRole', name: 'r' };
  reader.put(clusterroles, { metadata: { name: 'r' }, rules: [rule] });
  if (namespace === '') reader.put(clusterrolebindings, { metadata: { name: 'b' }, roleRef, subjects: [...subjects] });
  else reader.put(rolebindings, { metadata: { name: 'b', namespace }, roleRef, subjects: [...subjects] });
  const index = new RbacIndex();
  const stop = new AbortController();
  await index.start(reader, stop.signal);
  const { decision } = new RbacAuthorizer(index, dialect).authorize(request);
  stop.abort();
  return decision === 'allow';
}

const additions: readonly Lack[] = [
  'subjects',
  'namespace',
  'verbs',
  'apiGroups',
  'resources',
  'resourceNames',
  'nonResourceURLs',
];

/** The least number of additions with which the binding allows the request; undefined if its role has no such rules. */
async function reference(
  request: AuthorizationAttributes,
  binding: RoleBinding | ClusterRoleBinding,
  rules: readonly PolicyRule[] | undefined,
): Promise<number | undefined> {
  const { user, verb, group, resource, subresource, name, path } = request;
  const own = request.resourceRequest ? 'resources' : 'nonResourceURLs';
  // A missing role counts as one addition, after which it allows everything.
  const everything: PolicyRule[] = [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ];
  const candidates = (rules ?? everything).filter((rule) => (rule[own] ?? []).length > 0);
  let least: number | undefined;
  for (const rule of candidates) {
    for (let set = 0; set < 2 ** additions.length; set += 1) {
      const chosen = new Set(additions.filter((_, i) => (set & (2 ** i)) !== 0));
      const count = chosen.size + (rules === undefined ? 1 : 0);
      if (least !== undefined && count >= least) continue;
      const add = (part: Lack, list: readonly string[] | undefined, value: string) =>
        chosen.has(part) ? [...(list ?? []), value] : [...(list ?? [])];
      const whole = subresource === '' ? resource : `${resource}/${subresource}`;
      // A name is added by lifting the limit, since requests for all objects have none.
      const limit = chosen.has('resourceNames')
        ? name === ''
          ? []
          : add('resourceNames', rule.resourceNames, name)
        : rule.resourceNames;
      const repaired: PolicyRule =
        own === 'resources'
          ? {
              verbs: add('verbs', rule.verbs, verb),
              apiGroups: add('apiGroups', rule.apiGroups, group),
              resources: add('resources', rule.resources, whole),
              ...(limit === undefined ? {} : { resourceNames: limit }),
            }
          : {
              verbs: add('verbs', rule.verbs, verb),
              nonResourceURLs: add('nonResourceURLs', rule.nonResourceURLs, path),
            };
      const elsewhere = chosen.has('namespace') ? request.namespace : (binding.metadata.namespace ?? '');
      const added = chosen.has('subjects') ? [{ kind: 'User', name: user.name }] : [];
      const subjects = [...(binding.subjects ?? []), ...added];
      if (await allows(request, { namespace: elsewhere, subjects, rule: repaired })) least = count;
    }
  }
  return least;
}

t.test('near bindings, against a slow reference on random roles', async (t) => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const dice = new Dice(seed);
    const objects = dice.objects();
    const request = dice.request();
    const near = nearBindings(request, objects);
    const all = [...objects.clusterRoleBindings, ...objects.roleBindings];
    const results: (readonly [string, number | undefined, number | undefined])[] = [];
    for (const binding of all) {
      const { kind, name } = binding.roleRef;
      const { namespace = '' } = binding.metadata;
      const role =
        kind === 'ClusterRole'
          ? objects.clusterRoles.find((each) => each.metadata.name === name)
          : objects.roles.find((each) => each.metadata.name === name && each.metadata.namespace === namespace);
      const expected = await reference(request, binding, role && (role.rules ?? []));
      const ours = near.find((each) => each.binding === binding)?.lacks.length;
      results.push([`${namespace}/${binding.metadata.name ?? ''}`, ours, expected]);
    }
    const wrong = results.filter(([, ours, expected]) => ours !== expected);
    t.same(wrong, [], `seed ${seed}: ${JSON.stringify(request)}`);
    if (wrong.length > 0) break;
  }
});

/** Decisions of the real authorizer with only the smallest role and its binding. */
async function granted(request: AuthorizationAttributes): Promise<(other: AuthorizationAttributes) => boolean> {
  const { role, binding } = smallestGrant(request, dialect);
  const reader = new MemoryObjectReader();
  if (role.kind === 'Role') {
    reader.put(roles, role as never);
    reader.put(rolebindings, binding as never);
  } else {
    reader.put(clusterroles, role as never);
    reader.put(clusterrolebindings, binding as never);
  }
  const index = new RbacIndex();
  await index.start(reader, new AbortController().signal);
  const authorizer = new RbacAuthorizer(index, dialect);
  return (other) => authorizer.authorize(other).decision === 'allow';
}

t.test('the smallest role allows the request and no other', async (t) => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const dice = new Dice(seed);
    const request = dice.request();
    const allowsThis = await granted(request);
    t.ok(allowsThis(request), `seed ${seed}: ${JSON.stringify(request)}`);
    for (let i = 0; i < 40; i += 1) {
      const other = dice.request();
      const fields = ['verb', 'group', 'resource', 'subresource', 'path', 'resourceRequest'] as const;
      const isSame = fields.every((field) => other[field] === request[field]) && other.user.name === request.user.name;
      // Requests without a name or namespace are for all of them.
      const isWithin =
        (request.name === '' || other.name === request.name) &&
        (request.namespace === '' || other.namespace === request.namespace);
      if (allowsThis(other) !== (isSame && isWithin))
        t.fail(`seed ${seed}: ${JSON.stringify(other)} by ${JSON.stringify(request)}`);
    }
  }
});

const alice = { name: 'alice', groups: ['dev'] };
const ask = (text: string): AuthorizationAttributes => {
  const [verb = '', resource = '', name = ''] = text.split(' ');
  const own = { user: alice, verb, resourceRequest: true, group: '', version: '*', resource, subresource: '' };
  return { ...own, namespace: 'ns', name, path: '' };
};
const readPods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };
const reader: Role = { metadata: { name: 'reader', namespace: 'ns' }, rules: [readPods] };
const admin: ClusterRole = {
  metadata: { name: 'admin' },
  rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
};
const bound = (name: string, kind: string, role: string, subject: Subject): RoleBinding => ({
  metadata: { name, namespace: 'ns' },
  roleRef: { apiGroup: '', kind, name: role },
  subjects: [subject],
});
const objects: Objects = {
  roles: [reader],
  clusterRoles: [admin],
  roleBindings: [
    bound('readers', 'Role', 'reader', { kind: 'Group', name: 'dev' }),
    bound('admins', 'ClusterRole', 'admin', { kind: 'Group', name: 'ops' }),
    bound('dangling', 'Role', 'gone', { kind: 'User', name: 'bob' }),
  ],
  clusterRoleBindings: [],
};

t.test('what an explanation says', (t) => {
  t.same(explainAccess(ask('get pods'), objects, orchDialect), {
    allowedBy: [{ kind: 'RoleBinding', namespace: 'ns', name: 'readers', role: 'Role reader', lacks: [], text: '' }],
    nearest: [],
    allowsOthers: [],
  });
  t.same(explainAccess(ask('delete pods web'), objects, orchDialect), {
    allowedBy: [],
    nearest: [
      {
        kind: 'RoleBinding',
        namespace: 'ns',
        name: 'readers',
        role: 'Role reader',
        lacks: ['verbs'],
        text: 'its role allows get, list, not delete',
      },
    ],
    allowsOthers: [
      {
        kind: 'RoleBinding',
        namespace: 'ns',
        name: 'admins',
        role: 'ClusterRole admin',
        lacks: ['subjects'],
        text: 'it is for Group ops, not for alice',
      },
    ],
    grant: {
      role: {
        apiVersion: 'rbac.authorization.orch.io/v1',
        kind: 'Role',
        metadata: { name: 'delete-pods-web', namespace: 'ns' },
        rules: [{ verbs: ['delete'], apiGroups: [''], resources: ['pods'], resourceNames: ['web'] }],
      },
      binding: {
        apiVersion: 'rbac.authorization.orch.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'delete-pods-web-alice', namespace: 'ns' },
        roleRef: { apiGroup: 'rbac.authorization.orch.io', kind: 'Role', name: 'delete-pods-web' },
        subjects: [{ apiGroup: 'rbac.authorization.orch.io', kind: 'User', name: 'alice' }],
      },
    },
  });
  const { nearest, allowsOthers } = explainAccess(ask('delete pods web'), undefined, orchDialect);
  t.same([nearest, allowsOthers], [[], []], 'without the right to read bindings there are none');
  t.end();
});
