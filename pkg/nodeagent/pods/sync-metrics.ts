/** Measures and traces a pod worker's passes, each from its first task until the worker rests or restarts a sync. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { objectAttributes, type Tracer, type WorkSpan } from '#daemon/tracing/tracer.js';
import type { AgentMetrics, PodOperation } from '#nodeagent/metrics/agent-metrics.js';

export interface SyncMetricsOptions {
  readonly clock: Clock;
  readonly metrics: AgentMetrics;
  /** Absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'begin'> | undefined;
}

interface Pass {
  readonly operation: PodOperation;
  readonly startedMs: number;
  /** Absent: not traced. */
  readonly span: WorkSpan | undefined;
  /** Message of the last failed task. */
  failure?: string;
}

export class SyncMetrics {
  readonly #clock: Clock;
  readonly #metrics: AgentMetrics;
  readonly #tracer: SyncMetricsOptions['tracer'];
  /** Monotonic ms. */
  readonly #firstSeenMs: number;
  /** Operation of the next pass, unless it ends the pod. */
  #next: PodOperation = 'create';
  #pass: Pass | undefined;

  constructor({ clock, metrics, tracer }: SyncMetricsOptions) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#tracer = tracer;
    this.#firstSeenMs = clock.monotonic();
  }

  /** The API object changed: the next pass is an update. */
  updated(): void {
    if (this.#next === 'sync') this.#next = 'update';
  }

  /** Begins a pass unless one is running. */
  begin({ metadata, spec }: Pod): void {
    if (this.#pass !== undefined) return;
    const startedMs = this.#clock.monotonic();
    const span = this.#tracer?.begin('Sync pod', `${metadata.namespace}/${metadata.name}`);
    this.#pass = { operation: this.#next, startedMs, span };
    if (this.#next === 'create') {
      this.#metrics.workerStartSeconds.observe((startedMs - this.#firstSeenMs) / 1000);
      this.#metrics.containersPerPod.observe(spec.containers.length);
    }
    this.#next = 'sync';
  }

  /** Runs a task as part of the current pass. */
  task<T>(name: string, work: () => Promise<T>): Promise<T> {
    const pass = this.#pass;
    if (pass?.span === undefined) return work();
    return pass.span.part(name, work).catch((error: unknown) => {
      pass.failure = messageOf(error);
      throw error;
    });
  }

  /** Ends the current pass, if any. `killed`: the pass ended the pod. `pod`: the version that the pass used. */
  end({ metadata, spec }: Pod, killed: boolean): void {
    const pass = this.#pass;
    if (pass === undefined) return;
    this.#pass = undefined;
    const operation = killed ? 'kill' : pass.operation;
    this.#metrics.recordPass(operation, this.#clock.monotonic() - pass.startedMs);
    pass.span?.end({
      attributes: { ...objectAttributes('pods', metadata), operation, node: spec.nodeName ?? '' },
      failed: pass.failure !== undefined,
      message: pass.failure,
    });
  }
}
