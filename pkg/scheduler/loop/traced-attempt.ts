/** A scheduling attempt as a span: from its start until the pod is bound or the failure is reported. */
import type { Clock } from '#apimachinery/clock.js';
import { objectAttributes, type Tracer, type WorkSpan } from '#daemon/tracing/tracer.js';
import type { AttemptResult, ExtensionPoint, PluginStatus, SchedulerMetrics } from '#scheduler/metrics/metrics.js';
import type { QueuedPod } from '#scheduler/queue/scheduling-queue.js';

/** How an attempt ended; `dropped`: the pod is gone or this process no longer leads. */
export interface AttemptOutcome {
  readonly result: AttemptResult | 'dropped';
  readonly node?: string | undefined;
  /** Why it failed. */
  readonly message?: string | undefined;
}

export class AttemptSpan {
  readonly #span: WorkSpan;
  readonly #queued: QueuedPod;
  readonly #waitedMs: number;

  /** Undefined if the attempt is not traced. */
  static begin(tracer: Pick<Tracer, 'begin'> | undefined, queued: QueuedPod, clock: Clock): AttemptSpan | undefined {
    const span = tracer?.begin('Schedule pod', queued.info.key);
    return span && new AttemptSpan(span, queued, clock.monotonic() - queued.since);
  }

  private constructor(span: WorkSpan, queued: QueuedPod, waitedMs: number) {
    this.#span = span;
    this.#queued = queued;
    this.#waitedMs = waitedMs;
  }

  within<T>(work: () => T): T {
    return this.#span.within(work);
  }

  /** Adds an extension point's duration, as for the metrics. */
  recordDuration(point: ExtensionPoint, status: PluginStatus, durationMs: number): void {
    this.#span.took(point, durationMs, status === 'Error');
  }

  end({ result, node, message }: AttemptOutcome): void {
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

/** Metrics that also pass durations to the current attempt's span. Attempts run one at a time. */
export interface TracedMetrics extends SchedulerMetrics {
  current: AttemptSpan | undefined;
}

export function tracedMetrics(metrics: SchedulerMetrics): TracedMetrics {
  const traced: TracedMetrics = {
    ...metrics,
    current: undefined,
    extensionPoint(point, status, profile, durationMs) {
      metrics.extensionPoint(point, status, profile, durationMs);
      traced.current?.recordDuration(point, status, durationMs);
    },
  };
  return traced;
}
