/** Which subjects roles and bindings allow to do something (RBAC of 1.24). Pure. */

export interface Wish {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Empty: any object. */
  readonly name: string;
  /** Empty: all namespaces, or outside of namespaces. */
  readonly namespace: string;
}

export interface Rule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface RoleObject {
  readonly metadata: { readonly name?: string; readonly namespace?: string };
  readonly rules?: readonly Rule[] | null;
}

export interface BindingObject {
  readonly metadata: { readonly name?: string; readonly namespace?: string };
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[] | null;
}

export interface RbacObjects {
  readonly roles: readonly RoleObject[];
  readonly clusterRoles: readonly RoleObject[];
  readonly roleBindings: readonly BindingObject[];
  readonly clusterRoleBindings: readonly BindingObject[];
}

export interface Permitted {
  /** `User jane`, `ServiceAccount shop/reader`. */
  readonly subject: string;
  /** `RoleBinding shop/pod-reader of Role pod-reader`. */
  readonly through: string;
}

export function whoCan(wish: Wish, objects: RbacObjects): Permitted[] {
  const clusterRoles = new Map(objects.clusterRoles.map((role) => [role.metadata.name ?? '', role]));
  const roles = new Map(
    objects.roles.map((role) => [`${role.metadata.namespace ?? ''}/${role.metadata.name ?? ''}`, role]),
  );
  const permitted: Permitted[] = [];
  const add = (binding: BindingObject, kind: string, role: RoleObject | undefined) => {
    if (role?.rules?.some((rule) => covers(rule, wish)) !== true) return;
    const { name = '', namespace } = binding.metadata;
    const place = namespace === undefined ? name : `${namespace}/${name}`;
    const through = `${kind} ${place} of ${binding.roleRef.kind} ${binding.roleRef.name}`;
    for (const subject of binding.subjects ?? []) {
      const of = subject.namespace === undefined ? subject.name : `${subject.namespace}/${subject.name}`;
      permitted.push({ subject: `${subject.kind} ${of}`, through });
    }
  };
  for (const binding of objects.clusterRoleBindings)
    add(binding, 'ClusterRoleBinding', clusterRoles.get(binding.roleRef.name));
  for (const binding of objects.roleBindings) {
    const { namespace = '' } = binding.metadata;
    if (wish.namespace === '' || namespace !== wish.namespace) continue;
    const { kind, name } = binding.roleRef;
    add(binding, 'RoleBinding', kind === 'Role' ? roles.get(`${namespace}/${name}`) : clusterRoles.get(name));
  }
  return permitted.sort((a, b) => (a.subject < b.subject ? -1 : 1));
}

/** As the authorizer matches rules: `*` is any, `pods/log` and `*` with `/log` name subresources. */
function covers(
  { verbs = [], apiGroups = [], resources = [], resourceNames = [] }: Rule,
  { verb, group, resource, name }: Wish,
): boolean {
  const slash = resource.indexOf('/');
  const isResource =
    resources.includes('*') ||
    resources.includes(resource) ||
    (slash > 0 && resources.includes(`*${resource.slice(slash)}`));
  return (
    (verbs.includes('*') || verbs.includes(verb)) &&
    (apiGroups.includes('*') || apiGroups.includes(group)) &&
    isResource &&
    (resourceNames.length === 0 || (name !== '' && resourceNames.includes(name)))
  );
}
