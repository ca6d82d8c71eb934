/** What the verbs of the generic registry stand on: what each of their helpers asks for, and what only verbs use. */
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { RequestMetrics } from '#apiserver/http/metrics.js';
import type { MessageSender } from '#apiserver/http/websocket.js';
import type { Admission } from '#apiserver/registry/admit.js';
import type { ManagedFields } from '#apiserver/registry/managed-fields.js';
import type { WatchLimits } from '#apiserver/registry/watch-limits.js';
import type { LeaseServer, WriteHooks } from '#apiserver/registry/write-hooks.js';
import type { BodyReader } from '#apiserver/registry/write-request.js';
import type { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import type { Responder } from '#apiserver/representation/respond.js';
import type { RecentFrames } from '#apiserver/representation/watch-events.js';
import type { StrategyEnvironment } from '#apiserver/resources/strategy-context.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

export interface RegistryContext
  extends Admission,
    BodyReader,
    LeaseServer,
    StrategyEnvironment,
    WatchLimits,
    WriteHooks {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newUID: () => string;
  readonly responder: Responder;
  readonly compressed: CompressedLists;
  readonly frames: RecentFrames;
  /** Asked again where a request turns out to do something else than its method says. */
  readonly authorizer: Authorizer;
  readonly managedFields: ManagedFields;
  readonly metrics: RequestMetrics;
  /** To clients over WebSocket. */
  readonly messages: MessageSender;
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'annotate'> | undefined;
}
