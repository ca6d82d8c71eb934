/** Tells the owners of Ingresses what cannot be carried out, once it has been so for a while. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { Problem } from '#ingress/routing/plan.js';

/** An Ingress may be there before its service: manifests are applied one after the other. */
const patienceMs = 5000;

export class ProblemEvents {
  readonly #clock: Clock;
  readonly #recorder: EventRecorder;
  /** Those that wait to be told, and those that were (undefined). */
  readonly #timers = new Map<string, Timer | undefined>();

  constructor(clock: Clock, recorder: EventRecorder) {
    this.#clock = clock;
    this.#recorder = recorder;
  }

  /** All that there are now. */
  update(problems: readonly Problem[]): void {
    const present = new Map(problems.map((problem) => [keyOfProblem(problem), problem]));
    for (const [key, timer] of this.#timers) {
      if (present.has(key)) continue;
      timer?.cancel();
      this.#timers.delete(key);
    }
    for (const [key, problem] of present) {
      if (this.#timers.has(key)) continue;
      const timer = this.#clock.setTimer(() => {
        this.#timers.set(key, undefined);
        this.#recorder.record(problem.ingress, 'Warning', problem.reason, problem.message);
      }, patienceMs);
      this.#timers.set(key, timer);
    }
  }

  close(): void {
    for (const timer of this.#timers.values()) timer?.cancel();
    this.#timers.clear();
  }
}

function keyOfProblem({ ingress, message, reason }: Problem): string {
  return `${ingress.metadata.uid} ${reason} ${message}`;
}
