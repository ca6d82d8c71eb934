/** Records events about Ingress rules that stay unusable for a while. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { Problem } from '#ingress/routing/plan.js';

/** Grace period: manifests are applied one by one, so a service may follow its Ingress. */
const graceMs = 5000;

export class ProblemEvents {
  readonly #clock: Clock;
  readonly #recorder: EventRecorder;
  /** Pending timers by problem; undefined once recorded. */
  readonly #timers = new Map<string, Timer | undefined>();

  constructor(clock: Clock, recorder: EventRecorder) {
    this.#clock = clock;
    this.#recorder = recorder;
  }

  /** Sets the current problems. */
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
      }, graceMs);
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
