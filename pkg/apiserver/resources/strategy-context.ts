import type { Requester, StrategyContext } from '#api/strategy/strategy.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { Codec } from '#apiserver/resources/codec.js';

/** The server's settings that strategies depend on. */
export interface StrategyEnvironment {
  readonly dialect: Dialect;
  readonly codec: Codec;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
  /** Whether containers may be privileged. */
  readonly allowPrivileged: boolean;
  readonly clock: Clock;
}

/** The context of strategies; `request` for writes, whose rules may depend on the user. */
export function strategyContext(server: StrategyEnvironment, request?: Pick<RequestContext, 'user'>): StrategyContext {
  return new ServerStrategyContext(server, request?.user);
}

/** Reads the clock only on demand, since few strategies need the time. */
class ServerStrategyContext implements StrategyContext {
  readonly dialect: Dialect;
  readonly gate: (name: string) => boolean;
  readonly allowPrivileged: boolean;
  readonly scheme: Scheme;
  readonly #clock: Clock;
  #now: number | undefined;
  declare readonly user?: Requester;

  constructor({ dialect, codec, gate, allowPrivileged, clock }: StrategyEnvironment, user: Requester | undefined) {
    this.dialect = dialect;
    this.gate = gate;
    this.allowPrivileged = allowPrivileged;
    this.scheme = codec.scheme;
    this.#clock = clock;
    if (user !== undefined) this.user = user;
  }

  get now(): number {
    this.#now ??= this.#clock.now();
    return this.#now;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }
}
