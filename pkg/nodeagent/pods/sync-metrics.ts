/** Measures the passes of one pod's worker, each from its first task until the worker rests or looks anew; and traces them. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { objectAttributes, type Tracer, type WorkSpan } from '#daemon/tracing/tracer.js';
import type { AgentMetrics, PodOperation } from '#nodeagent/metrics/agent-metrics.js';

export interface PassMeterOptions {
  readonly clock: Clock;
  readonly metrics: AgentMetrics;
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'begin'> | undefined;
}

interface Pass {
  readonly operation: PodOperation;
  readonly startedMs: number;
  /** Absent: it is not traced. */
  readonly span: WorkSpan | undefined;
  /** Of the last task that failed. */
  failure?: string;
}

export class PassMeter {
  readonly #clock: Clock;
  readonly #metrics: AgentMetrics;
  readonly #tracer: PassMeterOptions['tracer'];
  /** Monotonic ms. */
  readonly #firstSeenMs: number;
  /** What the next pass is for, unless it ends the pod. */
  #next: PodOperation = 'create';
  #pass: Pass | undefined;

  constructor({ clock, metrics, tracer }: PassMeterOptions) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#tracer = tracer;
    this.#firstSeenMs = clock.monotonic();
  }

  /** The API's object has changed: the next pass is for that. */
  updated(): void {
    if (this.#next === 'sync') this.#next = 'update';
  }

  /** A pass begins, if none is under way. */
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

  /** A task of the pass under way. */
  task<T>(name: string, work: () => Promise<T>): Promise<T> {
    const pass = this.#pass;
    if (pass?.span === undefined) return work();
    return pass.span.part(name, work).catch((error: unknown) => {
      pass.failure = messageOf(error);
      throw error;
    });
  }

  /** The pass under way, if any, is over. `killed`: it was to end the pod. `pod`: as it was known in the pass. */
  end({ metadata, spec }: Pod, killed: boolean): void {
    const pass = this.#pass;
    if (pass === undefined) return;
    this.#pass = undefined;
    const operation = killed ? 'kill' : pass.operation;
    this.#metrics.worked(operation, this.#clock.monotonic() - pass.startedMs);
    pass.span?.end({
      attributes: { ...objectAttributes('pods', metadata), operation, node: spec.nodeName ?? '' },
      failed: pass.failure !== undefined,
      message: pass.failure,
    });
  }
}
