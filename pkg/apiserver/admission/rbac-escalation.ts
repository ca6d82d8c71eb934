/**
 * Prevents users from granting rights that they lack: the writer of a role needs all its rules or the verb `escalate`; the
 * writer of a binding needs all rules of its role or the verb `bind` on it.
 */
import type { ClusterRole, PolicyRule, RoleBinding, RoleRef } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notFound } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { onlyForCollection } from '#apiserver/admission/only-for-collection.js';
import { refusal } from '#apiserver/admission/plugin.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import type { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { compactRules, uncoveredRules } from '#apiserver/authorization/rbac/rule-coverage.js';

export interface RbacEscalationOptions {
  readonly dialect: Dialect;
  readonly index: RbacIndex;
  readonly rbac: RbacAuthorizer;
  /** The server's whole authorizer. */
  readonly authorizer: Authorizer;
}

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Limit of missing rights named in the message. */
const maxDescribed = 100;

const roles = new Set(['roles', 'clusterroles']);
const bindings = new Set(['rolebindings', 'clusterrolebindings']);

export class RbacEscalation implements AdmissionPlugin {
  readonly name = 'RBACEscalation';
  readonly resources = [...roles, ...bindings].map((resource) => ({ group: 'rbac' as const, resource }));
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

  /** Checks every change of a role, since its labels can add its rules to aggregating roles. */
  async #role(attributes: AdmissionAttributes): Promise<void> {
    const [role, old] = [attributes.object, attributes.oldObject] as [ClusterRole, ClusterRole | undefined];
    if (old !== undefined && onlyForCollection(role, old)) return;
    // As in 1.24, a create request has no name.
    const name = old === undefined ? '' : (role.metadata.name ?? '');
    if (await this.#isAllowed(attributes, 'escalate', attributes.resource.resource, name)) return;
    this.#requireCovered(attributes, role.rules ?? []);
    // An aggregation rule can collect any rule, and removing it keeps the rules already collected.
    if (role.aggregationRule === undefined && old?.aggregationRule === undefined) return;
    this.#requireCovered(attributes, fullAuthority, 'must have cluster-admin privileges to use the aggregationRule');
  }

  async #binding(attributes: AdmissionAttributes): Promise<void> {
    const [binding, old] = [attributes.object, attributes.oldObject] as [RoleBinding, RoleBinding | undefined];
    const { roleRef } = binding;
    if (old !== undefined && onlyForCollection(binding, old)) return;
    const resource = roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (await this.#isAllowed(attributes, 'bind', resource, roleRef.name)) return;
    this.#requireCovered(attributes, this.#rulesOf(attributes, roleRef, resource));
  }

  #rulesOf(attributes: AdmissionAttributes, roleRef: RoleRef, resource: string): readonly PolicyRule[] {
    const { index, dialect } = this.#options;
    const rules = index.roleRules(roleRef, attributes.namespace);
    if (rules === undefined) throw notFound({ group: dialect.groupName('rbac'), resource }, roleRef.name);
    return rules;
  }

  async #isAllowed(attributes: AdmissionAttributes, verb: string, resource: string, name: string): Promise<boolean> {
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

  #requireCovered(attributes: AdmissionAttributes, granted: readonly PolicyRule[], instead?: string): void {
    const { rbac, dialect } = this.#options;
    const { user, namespace } = attributes;
    const missing = uncoveredRules(rbac.rulesFor(user, namespace).rules, granted);
    if (missing.length === 0) return;
    const groups = user.groups.map((group) => JSON.stringify(group)).join(' ');
    const described = compactRules(missing).map(describe).sort();
    const list = described.slice(0, maxDescribed).join('\n');
    const why = `user ${JSON.stringify(user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${list}`;
    throw refusal(attributes, dialect, instead ?? why);
  }
}

/** `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}`, as in 1.24. */
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
