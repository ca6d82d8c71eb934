/** What the verbs of the generic registry stand on. */
import type { ApiObjectShape } from '#api/object.js';
import type { Requester, StrategyContext } from '#api/strategy.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { AdmissionMetrics } from '#apiserver/admission/metrics.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { RequestMetrics } from '#apiserver/http/metrics.js';
import type { Responder } from '#apiserver/http/respond.js';
import type { ManagedFields } from '#apiserver/registry/managed-fields.js';
import type { ResourceTable } from '#apiserver/registry/resource-table.js';
import type { Codec } from '#apiserver/representation/codec.js';
import type { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import type { RecentFrames } from '#apiserver/representation/recent-frames.js';
import type { Logger } from '#daemon/log/logger.js';

/** Takes back what a hook did, because the write did not happen. */
export type Undo = () => Promise<void>;

/** What belongs to a write of a kind besides the write: claiming addresses and ports for Services, for instance. */
export interface WriteHook {
  handles(resource: ResourceDeclaration): boolean;
  /** Before validation and storage; may complete the object. With `dryRun` nothing may stay claimed. */
  beforeCreate?(object: ApiObjectShape, options: { readonly dryRun: boolean }): Promise<Undo | undefined>;
  beforeUpdate?(
    object: ApiObjectShape,
    old: ApiObjectShape,
    options: { readonly dryRun: boolean },
  ): Promise<Undo | undefined>;
  /** After the update is stored: time to give back what only the old object held. */
  afterUpdate?(object: ApiObjectShape, old: ApiObjectShape): Promise<void>;
  /** After the object is gone for good. */
  afterDelete?(object: ApiObjectShape): Promise<void>;
}

export interface RegistryContext {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newUID: () => string;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
  readonly codec: Codec;
  readonly responder: Responder;
  readonly compressed: CompressedLists;
  readonly frames: RecentFrames;
  /** Asked again where a request turns out to do something else than its method says. */
  readonly authorizer: Authorizer;
  readonly admission: readonly AdmissionPlugin[];
  readonly admissionMetrics: AdmissionMetrics;
  readonly hooks: readonly WriteHook[];
  readonly managedFields: ManagedFields;
  readonly metrics: RequestMetrics;
  readonly resources: ResourceTable;
  /** A watch without timeoutSeconds lives between this long and twice as long. */
  readonly minWatchTimeoutMs: number;
  /** A client of a watch that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** Whether containers may be privileged. */
  readonly allowPrivileged: boolean;
  /** Aborts when the server closes: ends all watches. */
  readonly closing: AbortSignal;
}

/** What strategies are given; `request` for writes, which may depend on who makes them. */
export function strategyContext(registry: RegistryContext, request?: Pick<RequestContext, 'user'>): StrategyContext {
  return new RegistryStrategyContext(registry, request?.user);
}

/** Reads the clock when it is asked for the time, which few strategies do. */
class RegistryStrategyContext implements StrategyContext {
  readonly dialect: Dialect;
  readonly gate: (name: string) => boolean;
  readonly allowPrivileged: boolean;
  readonly #clock: Clock;
  #now: number | undefined;
  declare readonly user?: Requester;

  constructor({ dialect, gate, allowPrivileged, clock }: RegistryContext, user: Requester | undefined) {
    this.dialect = dialect;
    this.gate = gate;
    this.allowPrivileged = allowPrivileged;
    this.#clock = clock;
    if (user !== undefined) this.user = user;
  }

  get now(): number {
    this.#now ??= this.#clock.now();
    return this.#now;
  }
}
