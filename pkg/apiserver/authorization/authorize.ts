/** The authorization step of the pipeline, and general authorizers. */
import { deferred } from '#apimachinery/async/deferred.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { aggregate } from '#apimachinery/errors/aggregate.js';
import { forbidden, tooManyRequests } from '#apimachinery/errors/status.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { PlainFailure } from '#apiserver/http/plain-failure.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

export function attributesOf(info: RequestInfo, user: UserInfo): AuthorizationAttributes {
  return {
    user,
    verb: info.verb,
    resourceRequest: info.resourceRequest,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  };
}

/**
 * Throws, or rejects with, 403 unless the authorizer allows the request. `url`: throws 500 where authorizers could not decide.
 * `onDecision` is called first.
 */
export function authorize(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
  url?: string,
  onDecision?: (decision: AuthorizationDecision) => void,
): MaybePromise<void> {
  return andThen(authorizer.authorize(attributes), (answer) => {
    onDecision?.(answer);
    if (answer.decision !== 'allow') refuse(answer, attributes, url);
  });
}

function refuse(answer: AuthorizationDecision, attributes: AuthorizationAttributes, url: string | undefined): never {
  if (answer.error !== undefined && url !== undefined) throw new PlainFailure(url, answer.error);
  const why = answer.reason === '' ? denial(attributes) : `${denial(attributes)}: ${answer.reason}`;
  throw forbidden({ group: attributes.group, resource: attributes.resource }, attributes.name, why);
}

/** The message of 1.24. */
function denial(a: AuthorizationAttributes): string {
  const who = `User ${JSON.stringify(a.user.name)} cannot ${a.verb}`;
  if (!a.resourceRequest) return `${who} path ${JSON.stringify(a.path)}`;
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`;
  const where = a.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(a.namespace)}`;
  return `${who} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(a.group)} ${where}`;
}

export interface WaitingAuthorizerOptions {
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  /** Longest time that a request waits for a decision. */
  readonly waitMs?: number;
}

/** The same limit as for reads that wait for their cache. */
const defaultWaitMs = 3000;

/**
 * Until `ready` is called, requests that are not allowed wait, and get 429 after `waitMs`. Release 1.24 answers 403, which
 * clients that reconnect after a restart take for a final refusal.
 */
export class WaitingAuthorizer implements Authorizer {
  readonly mode: string;
  readonly #options: WaitingAuthorizerOptions;
  readonly #whenReady = deferred();
  #isReady = false;

  constructor(options: WaitingAuthorizerOptions) {
    this.mode = options.authorizer.mode;
    this.#options = options;
  }

  /** Called when the authorizer's caches are filled. */
  ready(): void {
    this.#isReady = true;
    this.#whenReady.resolve();
  }

  authorize(attributes: AuthorizationAttributes): ReturnType<Authorizer['authorize']> {
    const { authorizer } = this.#options;
    return this.#isReady ? authorizer.authorize(attributes) : this.#early(attributes);
  }

  async #early(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
    const { authorizer, clock, waitMs = defaultWaitMs } = this.#options;
    const answer = await authorizer.authorize(attributes);
    if (answer.decision === 'allow') return answer;
    const waiting = deferred();
    const timer = clock.setTimer(waiting.resolve, waitMs);
    await Promise.race([this.#whenReady.promise, waiting.promise]);
    timer.cancel();
    if (!this.#isReady) throw tooManyRequests('the server has not read the roles yet', 1);
    return authorizer.authorize(attributes);
  }
}

/** Tries each authorizer until one allows or denies. If none does, there are the reasons and errors of all. */
export class UnionAuthorizer implements Authorizer {
  readonly mode: string;
  readonly #members: readonly Authorizer[];

  constructor(members: readonly Authorizer[]) {
    this.#members = members;
    this.mode = members.map((member) => member.mode).join(',');
  }

  authorize(attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision> {
    return this.#ask(attributes, 0, undefined);
  }

  /** Tries the members from `index` on; `before` has the answers of the earlier ones. */
  #ask(
    attributes: AuthorizationAttributes,
    index: number,
    before: readonly AuthorizationDecision[] | undefined,
  ): MaybePromise<AuthorizationDecision> {
    const member = this.#members[index];
    if (member === undefined) return before === undefined ? noOpinion : withoutOpinion(before);
    return andThen(member.authorize(attributes), (answer) => {
      if (answer.decision !== 'noOpinion') return answer;
      const silent = answer.reason === '' && answer.error === undefined;
      return this.#ask(attributes, index + 1, silent ? before : [...(before ?? []), answer]);
    });
  }
}

const noOpinion: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

function withoutOpinion(answers: readonly AuthorizationDecision[]): AuthorizationDecision {
  const reasons = answers.map(({ reason }) => reason).filter((reason) => reason !== '');
  const errors = answers.map(({ error }) => error).filter((error) => error !== undefined);
  const answer = { ...noOpinion, reason: reasons.join('\n') };
  return errors.length === 0 ? answer : { ...answer, error: aggregate(errors) };
}

/** Allows everything to members of these groups. */
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

/** Lets every authenticated user ask why: the answer has nothing that the user may not read. */
export class QuestionAuthorizer implements Authorizer {
  readonly mode = 'Questions';
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  authorize({ user, verb, group, resource, subresource, namespace }: AuthorizationAttributes): AuthorizationDecision {
    const { insight, groups } = this.#dialect;
    const isQuestion = group === insight.group && resource === 'whys' && subresource === '' && namespace === '';
    if (!isQuestion || verb !== 'create' || !user.groups.includes(groups.authenticated)) return noOpinion;
    return { decision: 'allow', reason: '' };
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
