import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { RequestMetrics } from '#apiserver/http/request-metrics.js';
import type { Admission } from '#apiserver/registry/admit.js';
import type { ManagedFields } from '#apiserver/registry/managed-fields.js';
import type { WatchEnvironment } from '#apiserver/registry/watch-environment.js';
import type { LeaseServer, WriteHooks } from '#apiserver/registry/write-hooks.js';
import type { BodyReader } from '#apiserver/registry/write-request.js';
import type { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import type { Responder } from '#apiserver/representation/respond.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { StrategyEnvironment } from '#apiserver/resources/strategy-context.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

/**
 * One request for one resource: created by the router and passed to its handlers. `Registry` narrows the registry to the
 * parts that a handler uses.
 */
export interface Operation<Registry = RegistryContext> {
  readonly registry: Registry;
  readonly context: RequestContext;
  readonly resource: ServedResource;
}

export interface RegistrySettings {
  /** Concurrent deletions of one request to delete a collection. */
  readonly deleteWorkers: number;
  /** False: no garbage collector runs, so deletions must not leave finalizers for it. */
  readonly collectsGarbage: boolean;
  /** True for resources whose reads are never older than the store. */
  readonly isUncached: (resource: Pick<ServedResource, 'group' | 'declaration'>) => boolean;
}

/** Dependencies of the registry's verbs and of their helpers. */
export interface RegistryContext extends Admission, BodyReader, LeaseServer, StrategyEnvironment, WriteHooks {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newUID: () => string;
  readonly responder: Responder;
  readonly compressed: CompressedLists;
  /** Checks the additional right if a request does something other than its method says. */
  readonly authorizer: Authorizer;
  readonly managedFields: ManagedFields;
  readonly metrics: RequestMetrics;
  readonly watches: WatchEnvironment;
  readonly settings: RegistrySettings;
  /** Absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'annotate'> | undefined;
}
