/** `tokenreviews`: tells other daemons whose token somebody showed them. */
import type { TokenReview, TokenReviewStatus } from '#api/authentication/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, statusOf } from '#apimachinery/errors/status.js';
import type { TokenAuthenticator } from '#apiserver/authentication/token.js';
import { withGeneralGroup } from '#apiserver/authentication/union.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import { readJwt } from '#pki/jwt.js';

export interface TokenReviewOptions {
  readonly dialect: Dialect;
  readonly tokens: TokenAuthenticator;
  /** Audiences of this API server: what tokens without audiences of their own are for. */
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
      // What was sent as the status stays where nothing is known better, as with 1.24.
      return {
        ...review,
        status: { ...review.status, ...(await statusFor(options, token, review.spec.audiences ?? [])) },
      };
    },
  };
}

const refused = (): TokenReviewStatus => ({ authenticated: false, error: 'invalid bearer token' });

async function statusFor(
  options: TokenReviewOptions,
  token: string,
  wanted: readonly string[],
): Promise<TokenReviewStatus> {
  const asked = wanted.length > 0 ? wanted : options.audiences;
  let user: UserInfo | undefined;
  try {
    user = await options.tokens.authenticateToken(token, asked);
  } catch (error) {
    if (statusOf(error)?.code !== 401) throw error;
    return refused();
  }
  const known = new Set(asked);
  const audiences = tokenAudiences(options, token).filter((audience) => known.has(audience));
  if (user === undefined || (wanted.length > 0 && audiences.length === 0)) return refused();
  const { name, uid, groups, extra } = withGeneralGroup(user, options.dialect);
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
