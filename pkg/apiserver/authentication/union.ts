/** Composes authenticators: in-process users first, then each kind of credentials, then nobody in particular. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import type { AuthenticationMetrics } from '#apiserver/authentication/metrics.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';

const anonymousUser = 'system:anonymous';

interface Failure {
  readonly error: unknown;
}

/** Asks each in turn; the first user wins. Wrong credentials count only when no other credentials are right. */
class UnionAuthenticator implements Authenticator {
  readonly #members: readonly Authenticator[];

  constructor(members: readonly Authenticator[]) {
    this.#members = members;
  }

  authenticate(request: ApiRequest): MaybePromise<UserInfo | undefined> {
    return this.#ask(request, 0, undefined);
  }

  /** Asks the members from that place on; `failure` is the first of those before it. */
  #ask(request: ApiRequest, place: number, failure: Failure | undefined): MaybePromise<UserInfo | undefined> {
    const member = this.#members[place];
    if (member === undefined) {
      if (failure !== undefined) throw failure.error;
      return undefined;
    }
    const next = (failed: Failure | undefined) => this.#ask(request, place + 1, failed);
    let answer: MaybePromise<UserInfo | undefined>;
    try {
      answer = member.authenticate(request);
    } catch (error) {
      return next(failure ?? { error });
    }
    if (!(answer instanceof Promise)) return answer ?? next(failure);
    return answer.then(
      (user) => user ?? next(failure),
      (error: unknown) => next(failure ?? { error }),
    );
  }
}

export interface RequestAuthenticatorOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** In the order in which they are asked. */
  readonly members: readonly Authenticator[];
  /** Requests without credentials are `system:anonymous`'s; otherwise they get 401. */
  readonly anonymous: boolean;
  readonly metrics: AuthenticationMetrics;
}

/**
 * The authenticator of the whole server: trusts the user that an in-process caller comes with, asks the members, adds
 * `system:authenticated`, and ends with the anonymous user or a 401.
 */
export class RequestAuthenticator implements Authenticator {
  readonly #options: RequestAuthenticatorOptions;
  readonly #union: UnionAuthenticator;
  /** What users become whom the members give out again and again. */
  readonly #general = new WeakMap<UserInfo, UserInfo>();

  constructor(options: RequestAuthenticatorOptions) {
    this.#options = options;
    this.#union = new UnionAuthenticator(options.members);
  }

  authenticate(request: ApiRequest): MaybePromise<UserInfo> {
    const { clock } = this.#options;
    // Nobody has to find out who a caller in this process is.
    if (request.user !== undefined) return this.#withGeneralGroup(request.user);
    const startedMs = clock.monotonic();
    const failed = (error: unknown): never => {
      this.#options.metrics.finished('error', clock.monotonic() - startedMs);
      throw error;
    };
    let found: MaybePromise<UserInfo | undefined>;
    try {
      found = this.#union.authenticate(request);
    } catch (error) {
      return failed(error);
    }
    if (!(found instanceof Promise)) return this.#accepted(found, startedMs);
    return found.catch(failed).then((user) => this.#accepted(user, startedMs));
  }

  /** Throws 401 for nobody where that is not allowed. */
  #accepted(user: UserInfo | undefined, startedMs: number): UserInfo {
    const { dialect, clock, anonymous, metrics } = this.#options;
    if (user === undefined && !anonymous) {
      metrics.finished('failure', clock.monotonic() - startedMs);
      throw unauthorized();
    }
    metrics.finished('success', clock.monotonic() - startedMs, user?.name ?? anonymousUser);
    if (user !== undefined) return this.#withGeneralGroup(user);
    return { name: anonymousUser, groups: [dialect.groups.unauthenticated] };
  }

  #withGeneralGroup(user: UserInfo): UserInfo {
    let general = this.#general.get(user);
    if (general === undefined) {
      general = withGeneralGroup(user, this.#options.dialect);
      this.#general.set(user, general);
    }
    return general;
  }
}

/** Everybody known belongs to `system:authenticated`, except those who say they are not. */
export function withGeneralGroup(user: UserInfo, dialect: Dialect): UserInfo {
  const { authenticated, unauthenticated } = dialect.groups;
  if (user.name === anonymousUser) return user;
  if (user.groups.includes(authenticated) || user.groups.includes(unauthenticated)) return user;
  return { ...user, groups: [...user.groups, authenticated] };
}
