/** Refused tokens. Clients get a 401 without a reason; token reviews tell the reasons, as in 1.24. */
import { aggregate } from '#apimachinery/errors/aggregate.js';
import { StatusError, statusOf, unauthorized } from '#apimachinery/errors/status.js';

const defaultReason = 'invalid bearer token';

/** A 401 whose reasons only token reviews show. */
export class TokenRefusal extends StatusError {
  readonly whys: readonly string[];

  constructor(whys: readonly string[], cause?: unknown) {
    super(unauthorized().status, cause === undefined ? undefined : { cause });
    this.whys = whys;
  }
}

/** Why a token was refused, for a token review: like in 1.24, other authenticators call it invalid first. */
export function refusalReason(error: unknown): string {
  return error instanceof TokenRefusal ? aggregate([defaultReason, ...error.whys]) : defaultReason;
}

/** One error for those of all authenticators: errors other than a 401 come first, since the token may be valid after all. */
export function joinedRefusals(errors: readonly unknown[]): unknown {
  const [first] = errors;
  const failure = errors.find((error) => statusOf(error)?.code !== 401);
  if (failure !== undefined) return failure;
  const refusals = errors.filter((error) => error instanceof TokenRefusal);
  return refusals.length === 0 ? first : new TokenRefusal(refusals.flatMap(({ whys }) => whys));
}
