/** Composes authenticators: in-process users first, then each kind of credentials, then the anonymous user. */
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

/** Tries each authenticator; the first user counts. Invalid credentials fail only if no other credentials are valid. */
class UnionAuthenticator implements Authenticator {
  readonly #members: readonly Authenticator[];

  constructor(members: readonly Authenticator[]) {
    this.#members = members;
  }

  authenticate(request: ApiRequest): MaybePromise<UserInfo | undefined> {
    return this.#ask(request, 0, undefined);
  }

  /** Tries the members from `index` on; `failure` is the first failure of the earlier ones. */
  #ask(request: ApiRequest, index: number, failure: Failure | undefined): MaybePromise<UserInfo | undefined> {
    const member = this.#members[index];
    if (member === undefined) {
      if (failure !== undefined) throw failure.error;
      return undefined;
    }
    const next = (failed: Failure | undefined) => this.#ask(request, index + 1, failed);
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
  /** The authenticators, in the order in which they are tried. */
  readonly members: readonly Authenticator[];
  /** Whether requests without credentials are `system:anonymous`; otherwise they get 401. */
  readonly anonymous: boolean;
  readonly metrics: AuthenticationMetrics;
}

/**
 * The authenticator of the whole server: trusts the user of an in-process request, tries the members, adds
 * `system:authenticated`, and falls back to the anonymous user or a 401.
 */
export class RequestAuthenticator implements Authenticator {
  readonly #options: RequestAuthenticatorOptions;
  readonly #union: UnionAuthenticator;
  /** Users with the group `system:authenticated`, by the cached users of the members. */
  readonly #authenticated = new WeakMap<UserInfo, UserInfo>();

  constructor(options: RequestAuthenticatorOptions) {
    this.#options = options;
    this.#union = new UnionAuthenticator(options.members);
  }

  authenticate(request: ApiRequest): MaybePromise<UserInfo> {
    const { clock } = this.#options;
    // In-process requests need no authentication.
    if (request.user !== undefined) return this.#withAuthenticatedGroup(request.user);
    const startedMs = clock.monotonic();
    const failed = (error: unknown): never => {
      this.#options.metrics.finished('error', clock.monotonic() - startedMs);
      throw error;
    };
    let user: MaybePromise<UserInfo | undefined>;
    try {
      user = this.#union.authenticate(request);
    } catch (error) {
      return failed(error);
    }
    if (!(user instanceof Promise)) return this.#accept(user, startedMs);
    return user.catch(failed).then((each) => this.#accept(each, startedMs));
  }

  /** Returns the user. Throws 401 for an anonymous request if these are not allowed. */
  #accept(user: UserInfo | undefined, startedMs: number): UserInfo {
    const { dialect, clock, anonymous, metrics } = this.#options;
    if (user === undefined && !anonymous) {
      metrics.finished('failure', clock.monotonic() - startedMs);
      throw unauthorized();
    }
    metrics.finished('success', clock.monotonic() - startedMs, user?.name ?? anonymousUser);
    if (user !== undefined) return this.#withAuthenticatedGroup(user);
    return { name: anonymousUser, groups: [dialect.groups.unauthenticated] };
  }

  #withAuthenticatedGroup(user: UserInfo): UserInfo {
    let authenticated = this.#authenticated.get(user);
    if (authenticated === undefined) {
      authenticated = withAuthenticatedGroup(user, this.#options.dialect);
      this.#authenticated.set(user, authenticated);
    }
    return authenticated;
  }
}

/** Adds `system:authenticated`, unless the user is anonymous or in `system:unauthenticated`. */
export function withAuthenticatedGroup(user: UserInfo, dialect: Dialect): UserInfo {
  const { authenticated, unauthenticated } = dialect.groups;
  if (user.name === anonymousUser) return user;
  if (user.groups.includes(authenticated) || user.groups.includes(unauthenticated)) return user;
  return { ...user, groups: [...user.groups, authenticated] };
}
