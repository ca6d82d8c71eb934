/** Which rules apply to a user, for SelfSubjectRulesReviews. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  readonly errors: readonly string[];
  /** The user may have further rights. */
  readonly incomplete: boolean;
}

export interface RuleResolver {
  rulesFor(user: UserInfo, namespace: string): ResolvedRules;
}

/** The rules of all authorizers, in their order. */
export class UnionResolver implements RuleResolver {
  readonly #members: readonly RuleResolver[];

  constructor(members: readonly RuleResolver[]) {
    this.#members = members;
  }

  rulesFor(user: UserInfo, namespace: string): ResolvedRules {
    const all = this.#members.map((member) => member.rulesFor(user, namespace));
    return {
      rules: all.flatMap(({ rules }) => rules),
      errors: all.flatMap(({ errors }) => errors),
      incomplete: all.some(({ incomplete }) => incomplete),
    };
  }
}

export const noRules: ResolvedRules = { rules: [], errors: [], incomplete: false };

const everything: ResolvedRules = {
  ...noRules,
  rules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
};

export const alwaysAllowRules: RuleResolver = { rulesFor: () => everything };
export const alwaysDenyRules: RuleResolver = { rulesFor: () => noRules };
