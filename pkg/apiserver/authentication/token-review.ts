/** `tokenreviews`: identifies the user of a token for other daemons. */
import type { TokenReview, TokenReviewStatus } from '#api/authentication/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, statusOf } from '#apimachinery/errors/status.js';
import { type ReviewedToken, reviewToken, type TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import { withAuthenticatedGroup } from '#apiserver/authentication/request-authenticator.js';
import { refusalReason } from '#apiserver/authentication/token-refusal.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';

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

const unauthenticated = (error: string): TokenReviewStatus => ({ authenticated: false, error });

async function statusFor(
  options: TokenReviewOptions,
  token: string,
  requested: readonly string[],
): Promise<TokenReviewStatus> {
  const allowed = requested.length > 0 ? requested : options.audiences;
  let answer: ReviewedToken | undefined;
  try {
    answer = await reviewToken(options.tokens, token, allowed);
  } catch (error) {
    if (statusOf(error)?.code !== 401) throw error;
    return unauthenticated(refusalReason(error));
  }
  const tokenAudiences = new Set(answer?.audiences ?? options.audiences);
  const audiences = allowed.filter((audience) => tokenAudiences.has(audience));
  if (answer === undefined || (allowed.length > 0 && audiences.length === 0)) {
    return unauthenticated(refusalReason(undefined));
  }
  const { name, uid, groups, extra } = withAuthenticatedGroup(answer.user, options.dialect);
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
