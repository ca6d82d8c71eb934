/** Roles and bindings in memory, found by whom they are for: a decision touches only the user's own bindings. */
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  RoleRef,
} from '#api/rbac/v1/types.gen.js';
import { type SubjectKey, subjectKey, userKeys } from '#apiserver/authorization/rbac/subjects.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { Mirror } from '#apiserver/objects/mirror.js';
import { keyOf, type ObjectReader } from '#apiserver/objects/object-reader.js';

type Binding = RoleBinding | ClusterRoleBinding;

/** Bindings by subject. */
class BindingIndex<B extends Binding> {
  readonly mirror: Mirror<B>;
  /** `namespace|subject` → bindings by key; the namespace is empty for cluster bindings. */
  readonly #bySubject = new Map<string, Map<string, B>>();

  constructor() {
    this.mirror = new Mirror<B>({
      put: (binding, old) => {
        if (old !== undefined) this.#drop(old);
        for (const key of keysOf(binding)) {
          const bindings = this.#bySubject.get(key) ?? new Map<string, B>();
          this.#bySubject.set(key, bindings.set(keyOf(binding), binding));
        }
      },
      drop: (binding) => this.#drop(binding),
    });
  }

  *of(namespace: string, subjects: readonly SubjectKey[]): Iterable<B> {
    for (const subject of subjects) {
      const bindings = this.#bySubject.get(indexKey(namespace, subject));
      if (bindings !== undefined) yield* bindings.values();
    }
  }

  #drop(binding: B): void {
    for (const key of keysOf(binding)) {
      const bindings = this.#bySubject.get(key);
      bindings?.delete(keyOf(binding));
      if (bindings?.size === 0) this.#bySubject.delete(key);
    }
  }
}

function keysOf(binding: Binding): string[] {
  const namespace = binding.metadata.namespace ?? '';
  return (binding.subjects ?? []).flatMap((subject) => {
    const key = subjectKey(subject, namespace);
    return key === undefined ? [] : [indexKey(namespace, key)];
  });
}

const indexKey = (namespace: string, subject: SubjectKey): string => `${namespace}|${subject}`;

/** One binding that applies to a user, with the rules of its role; `rules` is undefined when the role is missing. */
export interface AppliedRules {
  readonly binding: Binding;
  readonly roleRef: RoleRef;
  readonly rules: readonly PolicyRule[] | undefined;
}

export class RbacIndex {
  readonly #roles = new Mirror<Role>();
  readonly #clusterRoles = new Mirror<ClusterRole>();
  readonly #bindings = new BindingIndex<RoleBinding>();
  readonly #clusterBindings = new BindingIndex<ClusterRoleBinding>();

  /** Begins to follow the four resources; resolves when all are there. */
  async start(reader: ObjectReader, signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#roles.start(reader, roles, signal),
      this.#clusterRoles.start(reader, clusterroles, signal),
      this.#bindings.mirror.start(reader, rolebindings, signal),
      this.#clusterBindings.mirror.start(reader, clusterrolebindings, signal),
    ]);
  }

  /** What applies to the user: cluster bindings first, then those of the namespace, if one is given. */
  *rulesFor(user: UserInfo, namespace: string): Iterable<AppliedRules> {
    const subjects = userKeys(user);
    for (const binding of this.#clusterBindings.of('', subjects)) yield this.#applied(binding, '');
    if (namespace === '') return;
    for (const binding of this.#bindings.of(namespace, subjects)) yield this.#applied(binding, namespace);
  }

  /** The rules of a role that is referred to from `namespace` (empty: from a cluster binding). */
  roleRules(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    if (roleRef.kind === 'ClusterRole') {
      const role = this.#clusterRoles.get('', roleRef.name);
      return role === undefined ? undefined : (role.rules ?? []);
    }
    if (roleRef.kind !== 'Role' || namespace === '') return undefined;
    const role = this.#roles.get(namespace, roleRef.name);
    return role === undefined ? undefined : (role.rules ?? []);
  }

  #applied(binding: Binding, namespace: string): AppliedRules {
    return { binding, roleRef: binding.roleRef, rules: this.roleRules(binding.roleRef, namespace) };
  }
}
