/**
 * Nobody hands out rights that they do not have: whoever writes a role needs all its rules (or the verb `escalate`),
 * whoever writes a binding needs all rules of its role (or the verb `bind` on it).
 */
import type { ClusterRole, PolicyRule, Role, RoleBinding, RoleRef } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notFound } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { refusal } from '#apiserver/admission/refusal.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import { uncoveredRules } from '#apiserver/authorization/rbac/covers.js';
import type { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import type { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';

export interface RbacEscalationOptions {
  readonly dialect: Dialect;
  readonly index: RbacIndex;
  readonly rbac: RbacAuthorizer;
  /** The server's whole authorizer. */
  readonly authorizer: Authorizer;
}

const roles = new Set(['roles', 'clusterroles']);
const bindings = new Set(['rolebindings', 'clusterrolebindings']);

export class RbacEscalation implements AdmissionPlugin {
  readonly name = 'RBACEscalation';
  readonly #options: RbacEscalationOptions;

  constructor(options: RbacEscalationOptions) {
    this.#options = options;
  }

  handles({ operation, resource, subresource, user }: AdmissionAttributes): boolean {
    if (resource.group !== 'rbac' || subresource !== '' || (operation !== 'CREATE' && operation !== 'UPDATE'))
      return false;
    return !user.groups.includes(this.#options.dialect.groups.masters);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { resource } = attributes.resource;
    if (roles.has(resource)) await this.#role(attributes);
    else if (bindings.has(resource)) await this.#binding(attributes);
  }

  async #role(attributes: AdmissionAttributes): Promise<void> {
    const [role, old] = [attributes.object, attributes.oldObject] as [
      ClusterRole | Role,
      ClusterRole | Role | undefined,
    ];
    const aggregation = (of: ClusterRole | Role | undefined) =>
      JSON.stringify((of as ClusterRole | undefined)?.aggregationRule ?? null);
    const sameRules = JSON.stringify(role.rules ?? []) === JSON.stringify(old?.rules ?? []);
    if (old !== undefined && sameRules && aggregation(role) === aggregation(old)) return;
    if (await this.#may(attributes, 'escalate', attributes.resource.resource, role.metadata.name ?? '')) return;
    if ('aggregationRule' in role && role.aggregationRule !== undefined && aggregation(role) !== aggregation(old)) {
      const all: PolicyRule[] = [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ];
      this.#covered(attributes, all, 'must have cluster-admin privileges to use an aggregationRule');
    }
    this.#covered(attributes, role.rules ?? []);
  }

  async #binding(attributes: AdmissionAttributes): Promise<void> {
    const [binding, old] = [attributes.object, attributes.oldObject] as [RoleBinding, RoleBinding | undefined];
    const { roleRef } = binding;
    const same =
      old !== undefined &&
      JSON.stringify(roleRef) === JSON.stringify(old.roleRef) &&
      JSON.stringify(binding.subjects ?? []) === JSON.stringify(old.subjects ?? []);
    if (same) return;
    const resource = roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (await this.#may(attributes, 'bind', resource, roleRef.name)) return;
    this.#covered(attributes, this.#rulesOf(attributes, roleRef, resource));
  }

  #rulesOf(attributes: AdmissionAttributes, roleRef: RoleRef, resource: string): readonly PolicyRule[] {
    const { index, dialect } = this.#options;
    const rules = index.roleRules(roleRef, attributes.namespace);
    if (rules === undefined) throw notFound({ group: dialect.groupName('rbac'), resource }, roleRef.name);
    return rules;
  }

  async #may(attributes: AdmissionAttributes, verb: string, resource: string, name: string): Promise<boolean> {
    const { authorizer, dialect } = this.#options;
    const answer = await authorizer.authorize({
      user: attributes.user,
      verb,
      resourceRequest: true,
      group: dialect.groupName('rbac'),
      version: 'v1',
      resource,
      subresource: '',
      namespace: attributes.namespace,
      name,
      path: '',
    });
    return answer.decision === 'allow';
  }

  #covered(attributes: AdmissionAttributes, wanted: readonly PolicyRule[], instead?: string): void {
    const { rbac, dialect } = this.#options;
    const { user, namespace } = attributes;
    const missing = uncoveredRules(rbac.rulesFor(user, namespace).rules, wanted);
    if (missing.length === 0) return;
    const groups = user.groups.map((group) => JSON.stringify(group)).join(' ');
    const list = missing.map(describe).join('\n');
    const why = `user ${JSON.stringify(user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${list}`;
    throw refusal(attributes, dialect, instead ?? why);
  }
}

/** `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}`, as 1.24 writes it. */
function describe(rule: PolicyRule): string {
  const part = (name: string, values: readonly string[] | undefined) =>
    values === undefined || values.length === 0
      ? []
      : [`${name}:[${values.map((value) => JSON.stringify(value)).join(' ')}]`];
  const parts = [
    ...part('NonResourceURLs', rule.nonResourceURLs),
    ...part('APIGroups', rule.apiGroups),
    ...part('Resources', rule.resources),
    ...part('ResourceNames', rule.resourceNames),
    ...part('Verbs', rule.verbs),
  ];
  return `{${parts.join(', ')}}`;
}
