/** Authorizes requests to a daemon by asking the API server; decisions are cached for a while. */
import { createHash } from 'node:crypto';
import type { SubjectAccessReview } from '#api/authorization/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { ExpiringCache } from '#daemon/serving/expiring-cache.js';
import type { ReviewClient, ServingUser } from '#daemon/serving/user.js';

export type AccessAttributes =
  | { readonly path: string; readonly verb: string }
  | {
      readonly resource: string;
      readonly subresource?: string;
      readonly name?: string;
      readonly namespace?: string;
      readonly group?: string;
      readonly version?: string;
      readonly verb: string;
    };

export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

export interface Authorizer {
  authorize(user: ServingUser, attributes: AccessAttributes): Promise<Decision>;
}

export interface AuthorizerOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Without it, every request that is not always allowed is denied. */
  readonly reviewClient?: ReviewClient | undefined;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
  /** A trailing `*` matches any suffix. */
  readonly alwaysAllowPaths: readonly string[];
}

const cacheLimit = 4096;

export class DelegatedAuthorizer implements Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #decisions: ExpiringCache<Decision>;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    const { clock, allowedTtlMs, deniedTtlMs } = options;
    this.#decisions = new ExpiringCache({
      clock,
      limit: cacheLimit,
      ttlMs: ({ allowed }) => (allowed ? allowedTtlMs : deniedTtlMs),
    });
  }

  /** Rejects with the client's errors if the API server cannot be reached. */
  async authorize(user: ServingUser, attributes: AccessAttributes): Promise<Decision> {
    const { dialect, reviewClient } = this.#options;
    if ('path' in attributes && this.#isAlwaysAllowed(attributes.path)) return { allowed: true, reason: '' };
    if (user.groups.includes(dialect.groups.masters)) return { allowed: true, reason: '' };
    if (reviewClient === undefined) return { allowed: false, reason: 'no authorization is configured' };
    const review = this.#review(user, attributes);
    const key = createHash('sha256').update(JSON.stringify(review.spec)).digest('base64');
    return this.#decisions.get(key, async () => {
      const path = `/apis/${review.apiVersion}/subjectaccessreviews`;
      const { status } = await reviewClient.request<SubjectAccessReview>('POST', path, review);
      return { allowed: status?.allowed === true && status.denied !== true, reason: status?.reason ?? '' };
    });
  }

  #isAlwaysAllowed(path: string): boolean {
    return this.#options.alwaysAllowPaths.some((pattern) =>
      pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern,
    );
  }

  #review(user: ServingUser, attributes: AccessAttributes): SubjectAccessReview {
    return {
      apiVersion: this.#options.dialect.apiVersion('authorization', 'v1'),
      kind: 'SubjectAccessReview',
      metadata: {},
      spec: {
        user: user.name,
        groups: [...user.groups],
        ...(user.uid === undefined ? {} : { uid: user.uid }),
        ...(user.extra === undefined ? {} : { extra: user.extra as Record<string, string[]> }),
        ...('path' in attributes ? { nonResourceAttributes: attributes } : { resourceAttributes: attributes }),
      },
    };
  }
}
