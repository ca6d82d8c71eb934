/** Whether the node's runtime can run pods, with the texts of release 1.24 (kubelet's runtime.go). */
import { LatestValue } from '#apimachinery/async/latest-value.js';
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

/** How long a status call waits for the runtime's answer. */
const waitMs = 1000;
/** How long a runtime may be silent, for example while it restarts. */
const downAfterMs = 30_000;
/** Maximum age of the last listing. */
const listingThresholdMs = 180_000;

export class RuntimeHealth {
  readonly #clock: Clock;
  readonly #observer: Pick<RuntimeObserver, 'listedAt'>;
  readonly #conditions: LatestValue<readonly RuntimeCondition[]>;

  constructor({ cri, clock, log, observer }: RuntimeHealthOptions) {
    this.#clock = clock;
    this.#observer = observer;
    this.#conditions = new LatestValue({
      ...{ clock, waitMs },
      ask: () => cri.status(),
      onFailure: (error) => log.warn({ err: error }, 'container runtime status check failed'),
    });
  }

  /** Asks the runtime for its status. Resolves soon, and never rejects. */
  async refresh(): Promise<void> {
    await this.#conditions.refresh();
  }

  /** Why pods get no network, by the runtime's last status. */
  get networkProblem(): string | undefined {
    return this.#conditionProblem('NetworkReady', 'container runtime network not ready');
  }

  /** Why the node is not ready; empty if it is. */
  problems(): string[] {
    const { last } = this.#conditions;
    const now = this.#clock.monotonic();
    const problems = [
      last === undefined ? 'container runtime status check may not have completed yet' : undefined,
      last !== undefined && now - last.askedAt >= downAfterMs ? 'container runtime is down' : undefined,
      this.#listingProblem(now),
      this.#conditionProblem('RuntimeReady', 'container runtime not ready'),
      this.networkProblem,
    ];
    return problems.filter((problem) => problem !== undefined);
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
