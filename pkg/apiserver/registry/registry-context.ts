/** What the verbs of the generic registry stand on. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { AdmissionMetrics } from '#apiserver/admission/metrics.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { RequestMetrics } from '#apiserver/http/metrics.js';
import type { ManagedFields } from '#apiserver/registry/managed-fields.js';
import type { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import type { RecentFrames } from '#apiserver/representation/recent-frames.js';
import type { Responder } from '#apiserver/representation/respond.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { WriteHook } from '#apiserver/resources/write-hook.js';
import type { Logger } from '#daemon/log/logger.js';

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
