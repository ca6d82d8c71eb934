/** Which bindings allow a request, and which come near: what each lacks. Pure. */
import type { ClusterRoleBinding, PolicyRule, RoleBinding, Subject } from '#api/rbac/v1/types.gen.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import type { RbacObjects } from '#apiserver/authorization/rbac/rbac-index.js';
import { type RulePart, unmatchedParts } from '#apiserver/authorization/rbac/rule-match.js';
import { subjectKey, userKeys } from '#apiserver/authorization/rbac/subjects.js';

/** `subjects`: the binding is for other users. `namespace`: for another namespace. `role`: its role does not exist. */
export type Lack = 'subjects' | 'namespace' | 'role' | RulePart;

export interface NearBinding {
  readonly binding: RoleBinding | ClusterRoleBinding;
  /** Empty for a cluster binding. */
  readonly namespace: string;
  /** What would have to be added; empty if the binding allows the request. */
  readonly lacks: readonly Lack[];
  /** The rule that comes nearest, if the role exists. */
  readonly rule: PolicyRule | undefined;
  /** The subject that the user matches. */
  readonly subject: Subject | undefined;
}

type Binding = RoleBinding | ClusterRoleBinding;

/** Each binding whose role does not exist, or has rules about the same sort of requests (resources or paths). */
export function nearBindings(request: AuthorizationAttributes, objects: RbacObjects): NearBinding[] {
  const roles = new Map([...objects.roles].map((role) => [keyOf(role), role.rules ?? []]));
  const clusterRoles = new Map([...objects.clusterRoles].map((role) => [role.metadata.name ?? '', role.rules ?? []]));
  const keys = new Set(userKeys(request.user));
  const near: NearBinding[] = [];
  const look = (binding: Binding, namespace: string) => {
    const { kind, name } = binding.roleRef;
    const rules = kind === 'ClusterRole' ? clusterRoles.get(name) : roles.get(keyFor(namespace, name));
    const nearest = nearestRule(rules, request);
    if (nearest === undefined) return;
    const subject = binding.subjects?.find((each) => keys.has(subjectKey(each, namespace) ?? ''));
    const isElsewhere = namespace !== '' && (!request.resourceRequest || namespace !== request.namespace);
    const lacks: Lack[] = [
      ...(subject === undefined ? (['subjects'] as const) : []),
      ...(isElsewhere ? (['namespace'] as const) : []),
      ...nearest.lacks,
    ];
    near.push({ binding, namespace, lacks, rule: nearest.rule, subject });
  };
  for (const binding of objects.clusterRoleBindings) look(binding, '');
  for (const binding of objects.roleBindings) look(binding, binding.metadata.namespace ?? '');
  return near;
}

interface NearRule {
  readonly rule: PolicyRule | undefined;
  readonly lacks: readonly Lack[];
}

/** The rule that lacks least; the first of several. */
function nearestRule(rules: readonly PolicyRule[] | undefined, request: AuthorizationAttributes): NearRule | undefined {
  if (rules === undefined) return { rule: undefined, lacks: ['role'] };
  let nearest: NearRule | undefined;
  for (const rule of rules) {
    const lacks = unmatchedParts(rule, request);
    if (lacks !== undefined && (nearest === undefined || lacks.length < nearest.lacks.length))
      nearest = { rule, lacks };
  }
  return nearest;
}
