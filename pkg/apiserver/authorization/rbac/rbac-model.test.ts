/** The authorizer's index against the slow, obvious meaning of roles and bindings, while these change at random. */
import t from 'tap';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { PolicyRule, RoleRef, Subject } from '#api/rbac/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';

const namespaces = ['a', 'b'];
const names = ['one', 'two', 'three'];
const verbs = ['get', 'list', 'create', '*'];
const groups = ['', 'apps', '*'];
const resources = ['pods', 'pods/log', 'deployments', 'deployments/scale', '*/scale', '*'];
const paths = ['/healthz', '/healthz/*', '/metrics', '*'];

interface Role {
  readonly namespace: string;
  readonly name: string;
  readonly rules: readonly PolicyRule[];
}

interface Binding {
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}

const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }) => `${namespace}/${name}`;

/** The meaning of RBAC, written as a search through everything. */
class Model {
  readonly roles = new Map<string, Role>();
  readonly bindings = new Map<string, Binding>();

  allows(request: AuthorizationAttributes): boolean {
    return [...this.bindings.values()].some(({ namespace, roleRef, subjects }) => {
      if (namespace !== '' && namespace !== request.namespace) return false;
      if (!subjects.some((subject) => this.#is(subject, namespace, request))) return false;
      const role = this.roles.get(keyOf({ namespace: roleRef.kind === 'Role' ? namespace : '', name: roleRef.name }));
      return role?.rules.some((rule) => this.#matches(rule, request)) === true;
    });
  }

  #is({ kind, name, namespace }: Subject, bound: string, { user }: AuthorizationAttributes): boolean {
    if (kind === 'User') return user.name === name;
    if (kind === 'Group') return user.groups.includes(name);
    return user.name === `system:serviceaccount:${namespace ?? bound}:${name}`;
  }

  #matches(
    rule: PolicyRule,
    { verb, resourceRequest, path, group, resource, subresource, name }: AuthorizationAttributes,
  ) {
    const has = (list: readonly string[] | undefined, value: string) =>
      list !== undefined && (list.includes('*') || list.includes(value));
    if (!has(rule.verbs, verb)) return false;
    if (!resourceRequest) {
      return (rule.nonResourceURLs ?? []).some((pattern) =>
        pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path,
      );
    }
    if (!has(rule.apiGroups, group)) return false;
    const whole = subresource === '' ? resource : `${resource}/${subresource}`;
    const isCovered =
      has(rule.resources, whole) || (subresource !== '' && rule.resources?.includes(`*/${subresource}`) === true);
    return isCovered && ((rule.resourceNames ?? []).length === 0 || rule.resourceNames?.includes(name) === true);
  }
}

const seed = Number(process.env['SEED'] ?? 20_221);
const histories = 40;

t.test(`random roles and bindings allow what their meaning allows (SEED=${seed})`, async (t) => {
  let allowed = 0;
  for (let history = 0; history < histories; history++) {
    const random = seededRandom(seed + history);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const some = <T>(values: readonly T[]): T[] => values.filter(() => random() < 0.4);
    const reader = new MemoryObjectReader();
    const stop = new AbortController();
    const index = new RbacIndex();
    await index.start(reader, stop.signal);
    const authorizer = new RbacAuthorizer(index, dialect);
    const model = new Model();
    const users = ['alice', 'bob', 'system:serviceaccount:a:robot'];
    const userGroups = ['dev', 'ops'];

    const changeRole = () => {
      const namespace = pick(['', ...namespaces]);
      const name = pick(names);
      if (random() < 0.3) {
        model.roles.delete(keyOf({ namespace, name }));
        if (namespace === '') reader.remove(clusterroles, '', name);
        else reader.remove(roles, namespace, name);
        return;
      }
      const rules = Array.from({ length: 1 + Math.floor(random() * 3) }, (): PolicyRule => {
        if (namespace === '' && random() < 0.3) return { verbs: some(verbs), nonResourceURLs: some(paths) };
        const named = random() < 0.2 ? { resourceNames: [pick(['x', 'y'])] } : {};
        return { verbs: some(verbs), apiGroups: some(groups), resources: some(resources), ...named };
      });
      model.roles.set(keyOf({ namespace, name }), { namespace, name, rules });
      if (namespace === '') reader.put(clusterroles, { metadata: { name }, rules });
      else reader.put(roles, { metadata: { name, namespace }, rules });
    };
    const changeBinding = () => {
      const namespace = pick(['', ...namespaces]);
      const name = pick(names);
      if (random() < 0.3) {
        model.bindings.delete(keyOf({ namespace, name }));
        if (namespace === '') reader.remove(clusterrolebindings, '', name);
        else reader.remove(rolebindings, namespace, name);
        return;
      }
      const kind = namespace === '' || random() < 0.5 ? 'ClusterRole' : 'Role';
      const roleRef = { apiGroup: dialect.groupName('rbac'), kind, name: pick(names) };
      const subjects: Subject[] = Array.from({ length: Math.floor(random() * 3) }, () =>
        pick<Subject>([
          { kind: 'User', name: pick(users) },
          { kind: 'Group', name: pick(userGroups) },
          { kind: 'ServiceAccount', name: 'robot', namespace: pick(namespaces) },
        ]),
      );
      model.bindings.set(keyOf({ namespace, name }), { namespace, name, roleRef, subjects });
      if (namespace === '') reader.put(clusterrolebindings, { metadata: { name }, roleRef, subjects });
      else reader.put(rolebindings, { metadata: { name, namespace }, roleRef, subjects });
    };
    const request = (): AuthorizationAttributes => {
      const user = { name: pick(users), groups: some(userGroups) };
      const verb = pick(['get', 'list', 'create', 'delete']);
      const base = { user, verb, version: 'v1' };
      if (random() < 0.2) {
        const path = pick(['/healthz', '/healthz/etcd', '/metrics', '/other']);
        return {
          ...base,
          resourceRequest: false,
          path,
          group: '',
          resource: '',
          subresource: '',
          namespace: '',
          name: '',
        };
      }
      const [resource = '', subresource = ''] = pick(['pods', 'pods/log', 'deployments', 'deployments/scale']).split(
        '/',
      );
      return {
        ...base,
        ...{ resourceRequest: true, path: '', resource, subresource },
        group: pick(['', 'apps', 'batch']),
        namespace: pick(['', ...namespaces]),
        name: pick(['', 'x', 'y']),
      };
    };

    const wrong: unknown[] = [];
    for (let step = 0; step < 150; step++) {
      if (random() < 0.5) changeRole();
      else changeBinding();
      for (let n = 0; n < 10; n++) {
        const attributes = request();
        const expected = model.allows(attributes);
        if (expected) allowed++;
        const { decision } = authorizer.authorize(attributes);
        if ((decision === 'allow') !== expected) wrong.push({ step, attributes, expected });
      }
    }
    stop.abort();
    t.same(wrong.slice(0, 3), [], `history ${history}: every decision is the model's`);
  }
  t.ok(allowed > 1000, 'many requests are allowed');
});
