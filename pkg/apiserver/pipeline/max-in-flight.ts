/**
 * Limits requests in flight, reads and writes separately, like 1.24's max-in-flight filter. Beyond 1.24, health checks always
 * pass, and requests that other servers answer have limits of their own, so that a slow one stops nothing here.
 */
import { tooManyRequests } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { InFlightKind } from '#apiserver/http/request-failures.js';
import { isLongRunning, type RequestInfo } from '#apiserver/http/request-info.js';
import type { FlowControl } from '#apiserver/pipeline/flow-control.js';

export interface InFlightLimits {
  /** Requests that only read; 0 = no limit. */
  readonly readOnly: number;
  /** Requests that write; 0 = no limit. */
  readonly mutating: number;
}

const readVerbs = new Set(['get', 'list', 'watch']);
const healthPaths = new Set(['healthz', 'livez', 'readyz']);
const nothing = () => undefined;

type InFlightRequest = Pick<RequestContext, 'info' | 'user' | 'request'>;

export interface MaxInFlightOptions {
  readonly limits: InFlightLimits;
  /** Its members are never refused, so that administrators can always act. */
  readonly exemptGroup: string;
  /** Called for each refused request. */
  readonly refused: (kind: InFlightKind, context: InFlightRequest) => void;
}

type Counts = Record<InFlightKind, number>;

export class MaxInFlight implements FlowControl {
  readonly #limits: InFlightLimits;
  readonly #exemptGroup: string;
  readonly #refused: (kind: InFlightKind, context: InFlightRequest) => void;
  readonly #counts: Counts = { readOnly: 0, mutating: 0 };
  /** Requests that other servers answer. */
  readonly #passedOn: Counts = { readOnly: 0, mutating: 0 };

  constructor({ limits, exemptGroup, refused }: MaxInFlightOptions) {
    this.#limits = limits;
    this.#exemptGroup = exemptGroup;
    this.#refused = refused;
  }

  get current(): Readonly<Counts> {
    const { readOnly, mutating } = this.#counts;
    return { readOnly: readOnly + this.#passedOn.readOnly, mutating: mutating + this.#passedOn.mutating };
  }

  /**
   * Counts the request until the result is called. Throws 429 at the limit. Requests of daemons in this process do not count:
   * their workers bound their number, and a refusal would cost more than it saves.
   */
  enter(context: InFlightRequest, passesOn: boolean): () => void {
    const { info, user, request } = context;
    if (isLongRunning(info) || request.user !== undefined || isHealthCheck(info)) return nothing;
    const kind = readVerbs.has(info.verb) ? 'readOnly' : 'mutating';
    const limit = this.#limits[kind];
    const counts = passesOn ? this.#passedOn : this.#counts;
    if (limit > 0 && counts[kind] >= limit && !user.groups.includes(this.#exemptGroup)) {
      this.#refused(kind, context);
      throw tooManyRequests('Too many requests, please try again later.', 1);
    }
    counts[kind]++;
    return () => {
      counts[kind]--;
    };
  }
}

function isHealthCheck({ resourceRequest, segments: [first = ''] }: RequestInfo): boolean {
  return !resourceRequest && healthPaths.has(first);
}
