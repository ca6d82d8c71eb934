/** Limits requests in flight, reads and writes separately, like 1.24's max-in-flight filter. */
import { tooManyRequests } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { InFlightKind } from '#apiserver/http/request-failures.js';
import { isLongRunning } from '#apiserver/http/request-info.js';

export interface InFlightLimits {
  /** Requests that only read; 0 = no limit. */
  readonly readOnly: number;
  /** Requests that write; 0 = no limit. */
  readonly mutating: number;
}

const readVerbs = new Set(['get', 'list', 'watch']);

type InFlightRequest = Pick<RequestContext, 'info' | 'user' | 'request'>;

export interface MaxInFlightOptions {
  readonly limits: InFlightLimits;
  /** Its members are never refused, so that administrators can always act. */
  readonly exemptGroup: string;
  /** Called for each refused request. */
  readonly refused: (kind: InFlightKind, context: InFlightRequest) => void;
}

export class MaxInFlight {
  readonly #limits: InFlightLimits;
  readonly #exemptGroup: string;
  readonly #refused: (kind: InFlightKind, context: InFlightRequest) => void;
  readonly #counts: Record<InFlightKind, number> = { readOnly: 0, mutating: 0 };

  constructor({ limits, exemptGroup, refused }: MaxInFlightOptions) {
    this.#limits = limits;
    this.#exemptGroup = exemptGroup;
    this.#refused = refused;
  }

  get current(): { readonly readOnly: number; readonly mutating: number } {
    return { ...this.#counts };
  }

  /**
   * Counts the request until the result is called. Throws 429 at the limit. Requests of daemons in this process do not count:
   * their workers bound their number, and a refusal would cost more than it saves.
   */
  enter(context: InFlightRequest): () => void {
    const { info, user, request } = context;
    if (isLongRunning(info) || request.user !== undefined) return () => undefined;
    const kind = readVerbs.has(info.verb) ? 'readOnly' : 'mutating';
    const limit = this.#limits[kind];
    if (limit > 0 && this.#counts[kind] >= limit && !user.groups.includes(this.#exemptGroup)) {
      this.#refused(kind, context);
      throw tooManyRequests('Too many requests, please try again later.', 1);
    }
    this.#counts[kind]++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#counts[kind]--;
    };
  }
}
