/** Role-based access control. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { aggregate } from '#apimachinery/errors/aggregate.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';
import type { AppliedRules, RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { ruleSetOf } from '#apiserver/authorization/rbac/rule-set.js';
import { describeSubject } from '#apiserver/authorization/rbac/subjects.js';
import type { ResolvedRules, RuleResolver } from '#apiserver/authorization/rule-resolver.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

/** Limit of listed rules (see `RuleSet.weight`): several times the size of one role. */
const maxWeight = 4 * 1024 * 1024;

/** Formats the reason on demand: most requests are allowed and few callers read it. */
class Allowed {
  readonly decision = 'allow';
  readonly #why: () => string;

  constructor(why: () => string) {
    this.#why = why;
  }

  get reason(): string {
    return this.#why();
  }
}

export class RbacAuthorizer implements Authorizer, RuleResolver {
  readonly mode = 'RBAC';
  readonly #index: RbacIndex;
  readonly #dialect: Dialect;

  constructor(index: RbacIndex, dialect: Dialect) {
    this.#index = index;
    this.#dialect = dialect;
  }

  authorize(attributes: AuthorizationAttributes): AuthorizationDecision {
    const missing: string[] = [];
    const tried = new Set<readonly PolicyRule[]>();
    for (const applied of this.#index.rulesFor(attributes.user, attributes.namespace)) {
      const { rules } = applied;
      if (rules === undefined) missing.push(this.#missing(applied));
      else if (!tried.has(rules)) {
        tried.add(rules);
        if (ruleSetOf(rules).allows(attributes)) return new Allowed(() => this.#why(applied, attributes));
      }
    }
    const reason = missing.length === 0 ? '' : `RBAC: ${aggregate(missing)}`;
    return { decision: 'noOpinion', reason };
  }

  /**
   * The rules of a user in a namespace, each role once, and an error for each missing role. A user can be bound to more rules
   * than fit into memory: rules beyond `maxWeight` are left out, with an error.
   */
  rulesFor(user: UserInfo, namespace: string): ResolvedRules {
    const rules: PolicyRule[] = [];
    const missing = new Set<string>();
    const seen = new Set<readonly PolicyRule[]>();
    let weight = 0;
    for (const applied of this.#index.rulesFor(user, namespace)) {
      if (applied.rules === undefined) missing.add(this.#missing(applied));
      else if (!seen.has(applied.rules)) {
        seen.add(applied.rules);
        weight += ruleSetOf(applied.rules).weight;
        if (weight > maxWeight) {
          return { rules, errors: [...missing, 'there are too many rules to list all'], incomplete: true };
        }
        for (const rule of applied.rules) rules.push(rule);
      }
    }
    return { rules, errors: [...missing], incomplete: false };
  }

  #why({ binding, roleRef }: AppliedRules, { user }: AuthorizationAttributes): string {
    const { namespace = '', name = '' } = binding.metadata;
    const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
    const full = namespace === '' ? name : `${name}/${namespace}`;
    const subject = this.#index.subjectOf(binding, user);
    const to = subject === undefined ? '' : ` to ${describeSubject(subject)}`;
    return `RBAC: allowed by ${kind} ${JSON.stringify(full)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)}${to}`;
  }

  #missing({ roleRef }: AppliedRules): string {
    const group = this.#dialect.groupName('rbac');
    return `${roleRef.kind.toLowerCase()}.${group} ${JSON.stringify(roleRef.name)} not found`;
  }
}
