/** `tokenreviews`: identifies the user of a token for other daemons. */
import type { TokenReview, TokenReviewStatus } from '#api/authentication/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, statusOf } from '#apimachinery/errors/status.js';
import type { TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import { withAuthenticatedGroup } from '#apiserver/authentication/request-authenticator.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import { readJwt } from '#pki/jwt.js';

export interface TokenReviewOptions {
  readonly dialect: Dialect;
  readonly tokens: TokenAuthenticator;
  /** Audiences of this API server; tokens without audiences are valid for these. */
  readonly audiences: readonly string[];
}

export function tokenReviews(options: TokenReviewOptions): VirtualResource {
  return {
    group: 'authentication',
    resource: 'tokenreviews',
    subresource: '',
    async handle({ object }) {
      const review = object as TokenReview;
      const { token = '' } = review.spec ?? {};
      if (token === '') throw badRequest('token is required for TokenReview in authentication');
      // Like 1.24, keep fields of the sent status that the result does not set.
      return {
        ...review,
        status: { ...review.status, ...(await statusFor(options, token, review.spec.audiences ?? [])) },
      };
    },
  };
}

const unauthenticated = (): TokenReviewStatus => ({ authenticated: false, error: 'invalid bearer token' });

async function statusFor(
  options: TokenReviewOptions,
  token: string,
  requested: readonly string[],
): Promise<TokenReviewStatus> {
  const allowed = requested.length > 0 ? requested : options.audiences;
  let user: UserInfo | undefined;
  try {
    user = await options.tokens.authenticateToken(token, allowed);
  } catch (error) {
    if (statusOf(error)?.code !== 401) throw error;
    return unauthenticated();
  }
  const allowedSet = new Set(allowed);
  const audiences = tokenAudiences(options, token).filter((audience) => allowedSet.has(audience));
  if (user === undefined || (requested.length > 0 && audiences.length === 0)) return unauthenticated();
  const { name, uid, groups, extra } = withAuthenticatedGroup(user, options.dialect);
  return {
    authenticated: true,
    user: {
      username: name,
      ...(uid === undefined ? {} : { uid }),
      groups: [...groups],
      ...(extra === undefined ? {} : { extra: Object.fromEntries(Object.entries(extra).map(([k, v]) => [k, [...v]])) }),
    },
    audiences,
  };
}

function tokenAudiences({ audiences }: TokenReviewOptions, token: string): readonly string[] {
  const own = readJwt(token)?.claims['aud'];
  return Array.isArray(own) ? own.filter((item): item is string => typeof item === 'string') : audiences;
}
