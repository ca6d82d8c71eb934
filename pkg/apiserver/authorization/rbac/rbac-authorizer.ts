/** Role-based access control. */
import type { PolicyRule, Subject } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';
import type { AppliedRules, RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { ruleAllows } from '#apiserver/authorization/rbac/rule-match.js';
import { describeSubject, subjectKey, userKeys } from '#apiserver/authorization/rbac/subjects.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

export class RbacAuthorizer implements Authorizer {
  readonly mode = 'RBAC';
  readonly #index: RbacIndex;
  readonly #dialect: Dialect;

  constructor(index: RbacIndex, dialect: Dialect) {
    this.#index = index;
    this.#dialect = dialect;
  }

  authorize(attributes: AuthorizationAttributes): AuthorizationDecision {
    const missing: string[] = [];
    for (const applied of this.#index.rulesFor(attributes.user, attributes.namespace)) {
      if (applied.rules === undefined) missing.push(this.#missing(applied));
      else if (applied.rules.some((rule) => ruleAllows(rule, attributes)))
        return { decision: 'allow', reason: `RBAC: allowed by ${describe(applied, attributes.user)}` };
    }
    const reason = missing.length === 0 ? '' : `RBAC: ${oneOrMany(missing)}`;
    return { decision: 'noOpinion', reason };
  }

  /** The rules that hold for a user in a namespace, and what is wrong with roles that could not be found. */
  rulesFor(user: UserInfo, namespace: string): { readonly rules: PolicyRule[]; readonly errors: string[] } {
    const rules: PolicyRule[] = [];
    const errors: string[] = [];
    for (const applied of this.#index.rulesFor(user, namespace)) {
      if (applied.rules === undefined) errors.push(this.#missing(applied));
      else rules.push(...applied.rules);
    }
    return { rules, errors };
  }

  #missing({ roleRef }: AppliedRules): string {
    const group = this.#dialect.groupName('rbac');
    return `${roleRef.kind.toLowerCase()}.${group} ${JSON.stringify(roleRef.name)} not found`;
  }
}

function oneOrMany(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

function describe({ binding, roleRef }: AppliedRules, user: UserInfo): string {
  const { namespace = '', name = '' } = binding.metadata;
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  const full = namespace === '' ? name : `${name}/${namespace}`;
  const subject = subjectOf(binding.subjects ?? [], user, namespace);
  const to = subject === undefined ? '' : ` to ${describeSubject(subject)}`;
  return `${kind} ${JSON.stringify(full)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)}${to}`;
}

function subjectOf(subjects: readonly Subject[], user: UserInfo, namespace: string): Subject | undefined {
  const keys = userKeys(user);
  return subjects.find((subject) => keys.includes(subjectKey(subject, namespace) ?? ''));
}
