/** A pod's try as a span: from its turn until it is bound, or its pod has been told why not. */
import type { Clock } from '#apimachinery/clock.js';
import { objectAttributes, type Tracer, type WorkSpan } from '#daemon/tracing/tracer.js';
import type { AttemptResult, ExtensionPoint, PluginStatus, SchedulerMetrics } from '#scheduler/metrics/metrics.js';
import type { QueuedPod } from '#scheduler/queue/scheduling-queue.js';

/** How a try ended; `dropped`: it came to nothing, since the pod is gone or somebody else leads. */
export interface TryOutcome {
  readonly result: AttemptResult | 'dropped';
  readonly node?: string | undefined;
  /** Why not. */
  readonly message?: string | undefined;
}

export class TracedTry {
  readonly #span: WorkSpan;
  readonly #queued: QueuedPod;
  readonly #waitedMs: number;

  /** Undefined where it is not traced. */
  static begin(tracer: Pick<Tracer, 'begin'> | undefined, queued: QueuedPod, clock: Clock): TracedTry | undefined {
    const span = tracer?.begin('Schedule pod', queued.info.key);
    return span && new TracedTry(span, queued, clock.monotonic() - queued.since);
  }

  private constructor(span: WorkSpan, queued: QueuedPod, waitedMs: number) {
    this.#span = span;
    this.#queued = queued;
    this.#waitedMs = waitedMs;
  }

  within<T>(work: () => T): T {
    return this.#span.within(work);
  }

  /** An extension point, as the metrics are told of it. */
  took(point: ExtensionPoint, status: PluginStatus, durationMs: number): void {
    this.#span.took(point, durationMs, status === 'Error');
  }

  end({ result, node, message }: TryOutcome): void {
    const { attempts, info } = this.#queued;
    const { metadata, spec } = info.pod;
    this.#span.end({
      attributes: {
        ...objectAttributes('pods', metadata),
        'scheduler.profile': spec.schedulerName ?? '',
        'scheduler.attempts': attempts,
        'scheduler.queued_ms': Math.round(this.#waitedMs),
        result,
        ...(node === undefined ? {} : { node }),
      },
      failed: result === 'error' || result === 'unschedulable',
      message,
    });
  }
}

/** The metrics, of which the try under way is told, too. Decisions are made one at a time. */
export interface TracedMetrics extends SchedulerMetrics {
  current: TracedTry | undefined;
}

export function tracedMetrics(metrics: SchedulerMetrics): TracedMetrics {
  const traced: TracedMetrics = {
    ...metrics,
    current: undefined,
    extensionPoint(point, status, profile, durationMs) {
      metrics.extensionPoint(point, status, profile, durationMs);
      traced.current?.took(point, status, durationMs);
    },
  };
  return traced;
}
