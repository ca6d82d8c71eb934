/** What the span of a reconcile tells. Pure. */
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict } from '#apimachinery/errors/status.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import type { SpanOutcome } from '#daemon/tracing/tracer.js';

export interface Pass {
  /** Of the loop. */
  readonly controller: string;
  /** Mostly `namespace/name`; what it names is the controller's business. */
  readonly key: string;
  readonly outcome: Outcome;
  /** Failures in a row before this pass. */
  readonly requeues: number;
}

const namespaced = /^([^/]+)\/([^/]+)$/;

export function outcomeOfPass({ controller, key, outcome, requeues }: Pass): SpanOutcome {
  const { kind } = outcome;
  const error = 'error' in outcome ? outcome.error : undefined;
  const [, namespace, name] = namespaced.exec(key) ?? [];
  const result = error !== undefined && isConflict(error) ? 'conflict' : kind;
  return {
    attributes: {
      controller,
      key,
      ...(namespace === undefined ? {} : { 'object.namespace': namespace }),
      ...(name === undefined ? {} : { 'object.name': name }),
      result,
      requeues,
      ...('ms' in outcome ? { 'requeue.after_ms': Math.round(outcome.ms) } : {}),
    },
    // A stale cache is everyday business, as it is for the log.
    failed: error !== undefined && result !== 'conflict',
    ...(error === undefined ? {} : { message: messageOf(error) }),
  };
}
