/** Authorizers put together. */
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';

/** Asks each in turn until one allows or denies; collects the reasons of those without an opinion. */
export class UnionAuthorizer implements Authorizer {
  readonly mode: string;
  readonly #members: readonly Authorizer[];

  constructor(members: readonly Authorizer[]) {
    this.#members = members;
    this.mode = members.map((member) => member.mode).join(',');
  }

  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
    const reasons: string[] = [];
    for (const member of this.#members) {
      const given = member.authorize(attributes);
      const answer = given instanceof Promise ? await given : given;
      if (answer.reason !== '') reasons.push(answer.reason);
      if (answer.decision !== 'noOpinion') return { ...answer, reason: reasons.join('\n') };
    }
    return { decision: 'noOpinion', reason: reasons.join('\n') };
  }
}

/** Everything is allowed to the members of these groups, whatever the other authorizers say. */
export class PrivilegedGroupAuthorizer implements Authorizer {
  readonly mode = 'PrivilegedGroups';
  readonly #groups: ReadonlySet<string>;

  constructor(groups: readonly string[]) {
    this.#groups = new Set(groups);
  }

  authorize({ user }: AuthorizationAttributes): AuthorizationDecision {
    const member = user.groups.some((group) => this.#groups.has(group));
    return { decision: member ? 'allow' : 'noOpinion', reason: '' };
  }
}

export class AlwaysAllowAuthorizer implements Authorizer {
  readonly mode = 'AlwaysAllow';

  authorize(): AuthorizationDecision {
    return { decision: 'allow', reason: '' };
  }
}

export class AlwaysDenyAuthorizer implements Authorizer {
  readonly mode = 'AlwaysDeny';

  authorize(): AuthorizationDecision {
    return { decision: 'noOpinion', reason: 'Everything is forbidden.' };
  }
}
