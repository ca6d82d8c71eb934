/** What is decided before the authorizers have read the roles: nobody is refused for what is not known yet. */
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import { tooManyRequests } from '#apimachinery/errors/status.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';

export interface PatientAuthorizerOptions {
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  /** How long a request waits for a decision. */
  readonly waitMs?: number;
}

/** As long as reads wait for their cache. */
const defaultWaitMs = 3000;

/**
 * Passes on what is allowed at once. As long as `known` has not been called, everything else waits, and is answered 429
 * when that takes too long. Release 1.24 answers 403, which clients that come back after a restart take for an end.
 */
export class PatientAuthorizer implements Authorizer {
  readonly mode: string;
  readonly #options: PatientAuthorizerOptions;
  readonly #known = deferred();
  #isKnown = false;

  constructor(options: PatientAuthorizerOptions) {
    this.mode = options.authorizer.mode;
    this.#options = options;
  }

  /** The authorizer knows all that it decides by. */
  known(): void {
    this.#isKnown = true;
    this.#known.resolve();
  }

  authorize(attributes: AuthorizationAttributes): ReturnType<Authorizer['authorize']> {
    const { authorizer } = this.#options;
    return this.#isKnown ? authorizer.authorize(attributes) : this.#early(attributes);
  }

  async #early(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
    const { authorizer, clock, waitMs = defaultWaitMs } = this.#options;
    const answer = await authorizer.authorize(attributes);
    if (answer.decision === 'allow') return answer;
    const waiting = deferred();
    const timer = clock.setTimer(waiting.resolve, waitMs);
    await Promise.race([this.#known.promise, waiting.promise]);
    timer.cancel();
    if (!this.#isKnown) throw tooManyRequests('the server has not read the roles yet', 1);
    return authorizer.authorize(attributes);
  }
}
