/** Authorizers put together. */
import { andThen, type MaybePromise } from '#apimachinery/async/maybe-promise.js';
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

  authorize(attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision> {
    return this.#ask(attributes, 0, noOpinion);
  }

  /** Asks the members from that place on; `before` has the reasons of those before it. */
  #ask(
    attributes: AuthorizationAttributes,
    place: number,
    before: AuthorizationDecision,
  ): MaybePromise<AuthorizationDecision> {
    const member = this.#members[place];
    if (member === undefined || before.decision !== 'noOpinion') return before;
    return andThen(member.authorize(attributes), (answer) =>
      this.#ask(attributes, place + 1, withReasons(answer, before)),
    );
  }
}

const noOpinion: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

function withReasons(answer: AuthorizationDecision, { reason }: AuthorizationDecision): AuthorizationDecision {
  if (reason === '') return answer;
  return { ...answer, reason: answer.reason === '' ? reason : `${reason}\n${answer.reason}` };
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
