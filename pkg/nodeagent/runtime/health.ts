/** Whether the node's runtime is fit to run pods, in the words of release 1.24 (kubelet's runtime.go). */
import { LastAnswer } from '#apimachinery/async/last-answer.js';
import type { Clock } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeCondition, RuntimeService } from '#nodeagent/cri/cri.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';

export interface RuntimeHealthOptions {
  readonly cri: Pick<RuntimeService, 'status'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: Pick<RuntimeObserver, 'listedAt'>;
}

/** How long a status waits for the word of the runtime. */
const waitMs = 1000;
/** A runtime may be silent for so long, as one that is started anew is. */
const downAfterMs = 30_000;
/** As old as the last listing may be. */
const listingThresholdMs = 180_000;

export class RuntimeHealth {
  readonly #clock: Clock;
  readonly #observer: Pick<RuntimeObserver, 'listedAt'>;
  readonly #conditions: LastAnswer<readonly RuntimeCondition[]>;

  constructor({ cri, clock, log, observer }: RuntimeHealthOptions) {
    this.#clock = clock;
    this.#observer = observer;
    this.#conditions = new LastAnswer({
      ...{ clock, waitMs },
      ask: () => cri.status(),
      onFailure: (error) => log.warn({ err: error }, 'Container runtime sanity check failed'),
    });
  }

  /** Asks the runtime. Resolves soon, and never rejects. */
  async look(): Promise<void> {
    await this.#conditions.look();
  }

  /** Why pods get no network, by the last word of the runtime. */
  get networkProblem(): string | undefined {
    return this.#conditionProblem('NetworkReady', 'container runtime network not ready');
  }

  /** Why the node is not ready; none when it is. */
  problems(): string[] {
    const { last } = this.#conditions;
    const now = this.#clock.monotonic();
    const found = [
      last === undefined ? 'container runtime status check may not have completed yet' : undefined,
      last !== undefined && now - last.askedAt >= downAfterMs ? 'container runtime is down' : undefined,
      this.#listingProblem(now),
      this.#conditionProblem('RuntimeReady', 'container runtime not ready'),
      this.networkProblem,
    ];
    return found.filter((problem) => problem !== undefined);
  }

  #listingProblem(now: number): string | undefined {
    const at = this.#observer.listedAt;
    const problem = 'PLEG is not healthy: pleg';
    if (at === undefined) return `${problem} has yet to be successful`;
    if (now - at < listingThresholdMs) return undefined;
    const ago = formatDuration(Math.round((now - at) / 1000) * 1000);
    return `${problem} was last seen active ${ago} ago; threshold is ${formatDuration(listingThresholdMs)}`;
  }

  #conditionProblem(type: string, what: string): string | undefined {
    const condition = this.#conditions.last?.value.find((each) => each.type === type);
    if (condition === undefined || condition.status) return undefined;
    return `${what}: ${type}=false reason:${condition.reason} message:${condition.message}`;
  }
}
