/** Measures the passes of one pod's worker: each from its first task until the worker rests or looks anew. */
import type { Clock } from '#apimachinery/clock.js';
import type { AgentMetrics, PodOperation } from '#nodeagent/metrics/agent-metrics.js';

export class PassMeter {
  readonly #clock: Clock;
  readonly #metrics: AgentMetrics;
  /** Monotonic ms. */
  readonly #firstSeenMs: number;
  /** What the next pass is for, unless it ends the pod. */
  #next: PodOperation = 'create';
  #pass: { readonly operation: PodOperation; readonly startedMs: number } | undefined;

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics: AgentMetrics }) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#firstSeenMs = clock.monotonic();
  }

  /** The API's object has changed: the next pass is for that. */
  updated(): void {
    if (this.#next === 'sync') this.#next = 'update';
  }

  /** A pass begins, if none is under way. */
  begin(containers: number): void {
    if (this.#pass !== undefined) return;
    const startedMs = this.#clock.monotonic();
    this.#pass = { operation: this.#next, startedMs };
    if (this.#next === 'create') {
      this.#metrics.workerStartSeconds.observe((startedMs - this.#firstSeenMs) / 1000);
      this.#metrics.containersPerPod.observe(containers);
    }
    this.#next = 'sync';
  }

  /** The pass under way, if any, is over. `killed`: it was to end the pod. */
  end(killed: boolean): void {
    if (this.#pass === undefined) return;
    const { operation, startedMs } = this.#pass;
    this.#pass = undefined;
    this.#metrics.worked(killed ? 'kill' : operation, this.#clock.monotonic() - startedMs);
  }
}
