/** Roles and bindings in memory, indexed by subject: a decision reads only the user's own bindings. */

import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  RoleRef,
  Subject,
} from '#api/rbac/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import {
  changeOfBinding,
  changeOfRole,
  type PermissionChange,
  type PermissionFollower,
} from '#apiserver/authorization/rbac/permission-changes.js';
import { isGroupKey, type SubjectKey, subjectKey, userKeys } from '#apiserver/authorization/rbac/subjects.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { Mirror, type MirrorChange, type MirrorHandler } from '#apiserver/objects/object-mirror.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

export interface RbacObjects {
  readonly roles: Iterable<Role>;
  readonly clusterRoles: Iterable<ClusterRole>;
  readonly roleBindings: Iterable<RoleBinding>;
  readonly clusterRoleBindings: Iterable<ClusterRoleBinding>;
}

type Binding = RoleBinding | ClusterRoleBinding;

interface Bound<B> {
  readonly binding: B;
  /** Index of the first subject with the key. */
  readonly at: number;
}

type BoundByKey<B> = Map<string, Bound<B>>;

class BindingIndex<B extends Binding> {
  readonly mirror: Mirror<B>;
  /** Namespace → subject → bindings; the namespace is empty for cluster bindings. */
  readonly #namespaces = new Map<string, Map<SubjectKey, BoundByKey<B>>>();

  constructor(observer: Pick<MirrorHandler<B>, 'changing' | 'changed'>) {
    this.mirror = new Mirror<B>({
      ...observer,
      put: (binding, old) => {
        if (old !== undefined) this.#drop(old);
        this.#put(binding);
      },
      drop: (binding) => this.#drop(binding),
    });
  }

  /** The user's bindings, each once. */
  *of(namespace: string, user: UserInfo): Iterable<B> {
    const yielded = new Set<B>();
    for (const bound of this.#boundTo(namespace, user)) {
      for (const { binding } of bound.values()) {
        if (yielded.has(binding)) continue;
        yielded.add(binding);
        yield binding;
      }
    }
  }

  /** The binding's first subject that matches the user. */
  subjectOf(binding: B, user: UserInfo): Subject | undefined {
    const key = keyOf(binding);
    let first = Number.POSITIVE_INFINITY;
    for (const bound of this.#boundTo(binding.metadata.namespace ?? '', user)) {
      first = Math.min(first, bound.get(key)?.at ?? first);
    }
    return binding.subjects?.[first];
  }

  *#boundTo(namespace: string, user: UserInfo): Iterable<BoundByKey<B>> {
    const subjects = this.#namespaces.get(namespace);
    if (subjects === undefined) return;
    for (const key of keysAmong(user, subjects)) {
      const bound = subjects.get(key);
      if (bound !== undefined) yield bound;
    }
  }

  #put(binding: B): void {
    const { namespace = '' } = binding.metadata;
    const key = keyOf(binding);
    const subjects = this.#namespaces.get(namespace) ?? new Map<SubjectKey, BoundByKey<B>>();
    (binding.subjects ?? []).forEach((subject, at) => {
      const means = subjectKey(subject, namespace);
      if (means === undefined) return;
      const bound = subjects.get(means);
      if (bound === undefined) subjects.set(means, new Map([[key, { binding, at }]]));
      else if (bound.get(key)?.binding !== binding) bound.set(key, { binding, at });
    });
    if (subjects.size > 0) this.#namespaces.set(namespace, subjects);
  }

  #drop(binding: B): void {
    const { namespace = '' } = binding.metadata;
    const subjects = this.#namespaces.get(namespace);
    if (subjects === undefined) return;
    const key = keyOf(binding);
    for (const subject of binding.subjects ?? []) {
      const means = subjectKey(subject, namespace);
      const bound = means === undefined ? undefined : subjects.get(means);
      if (means === undefined || bound === undefined) continue;
      bound.delete(key);
      if (bound.size === 0) subjects.delete(means);
    }
    if (subjects.size === 0) this.#namespaces.delete(namespace);
  }
}

/** The user's keys that have bindings: a review may name hundreds of thousands of groups. */
function keysAmong(user: UserInfo, bindings: ReadonlyMap<SubjectKey, unknown>): Iterable<SubjectKey> {
  if (user.groups.length <= bindings.size) return userKeys(user);
  const groups = new Set(user.groups);
  return [...userKeys({ ...user, groups: [] }), ...[...bindings.keys()].filter((key) => isGroupKey(key, groups))];
}

/** A binding of a user, with the rules of its role; `rules` is undefined when the role does not exist. */
export interface AppliedRules {
  readonly binding: Binding;
  readonly roleRef: RoleRef;
  readonly rules: readonly PolicyRule[] | undefined;
}

export class RbacIndex {
  readonly #roles = new Mirror<Role>(this.#observed((change) => changeOfRole(change, this.#bindings.mirror.values())));
  readonly #clusterRoles = new Mirror<ClusterRole>(
    this.#observed((change) => changeOfRole(change, this.#allBindings())),
  );
  readonly #bindings = new BindingIndex<RoleBinding>(this.#observed(changeOfBinding));
  readonly #clusterBindings = new BindingIndex<ClusterRoleBinding>(this.#observed(changeOfBinding));
  #follower: PermissionFollower | undefined;

  /** Follows the four resources; resolves when the caches are filled. */
  async start(reader: ObjectReader, signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#roles.start(reader, roles, signal),
      this.#clusterRoles.start(reader, clusterroles, signal),
      this.#bindings.mirror.start(reader, rolebindings, signal),
      this.#clusterBindings.mirror.start(reader, clusterrolebindings, signal),
    ]);
  }

  /** Informs the follower of changes of rights from now on; there is one follower. */
  follow(follower: PermissionFollower): void {
    this.#follower = follower;
  }

  /** Passes a mirror's changes on to the follower. */
  #observed<T>(
    read: (change: MirrorChange<T>) => PermissionChange | undefined,
  ): Pick<MirrorHandler<T>, 'changing' | 'changed'> {
    let current: PermissionChange | undefined;
    return {
      changing: (change) => {
        current = this.#follower && read(change);
        if (current !== undefined) this.#follower?.changing(current);
      },
      changed: () => {
        if (current !== undefined) this.#follower?.changed(current);
        current = undefined;
      },
    };
  }

  *#allBindings(): Iterable<Binding> {
    yield* this.#bindings.mirror.values();
    yield* this.#clusterBindings.mirror.values();
  }

  /** All roles and bindings. */
  objects(): RbacObjects {
    return {
      roles: this.#roles.values(),
      clusterRoles: this.#clusterRoles.values(),
      roleBindings: this.#bindings.mirror.values(),
      clusterRoleBindings: this.#clusterBindings.mirror.values(),
    };
  }

  /** Cluster bindings first, then those of the namespace unless it is empty. */
  *rulesFor(user: UserInfo, namespace: string): Iterable<AppliedRules> {
    for (const binding of this.#clusterBindings.of('', user)) yield this.#applied(binding, '');
    if (namespace === '') return;
    for (const binding of this.#bindings.of(namespace, user)) yield this.#applied(binding, namespace);
  }

  /** The binding's first subject that matches the user. */
  subjectOf(binding: Binding, user: UserInfo): Subject | undefined {
    const { namespace = '' } = binding.metadata;
    return (namespace === '' ? this.#clusterBindings : this.#bindings).subjectOf(binding as RoleBinding, user);
  }

  /** The rules of a role that a binding in `namespace` refers to (empty: a cluster binding). */
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
