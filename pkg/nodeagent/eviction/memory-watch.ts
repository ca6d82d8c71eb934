/**
 * Notices within a second that a memory threshold was crossed, in either direction. Release 1.24 gets this from the
 * kernel through an eventfd, which Node.js lacks; reading two small files each second replaces it, and works with both
 * versions of cgroups.
 */
import { type Clock, upkeepClock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { crossedThresholds, type Observations } from '#nodeagent/pressure/assessment.js';
import { conditionOf, type Threshold } from '#nodeagent/pressure/thresholds.js';

export interface MemoryWatchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly thresholds: readonly Threshold[];
  /** Only of memory. */
  readonly observe: () => Promise<Observations>;
  readonly onCrossed: () => void;
}

const watchPeriodMs = 1000;

export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  readonly #thresholds: readonly Threshold[];

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    this.#thresholds = options.thresholds.filter(({ signal }) => conditionOf(signal) === 'MemoryPressure');
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, observe, onCrossed } = this.#options;
    if (this.#thresholds.length === 0) return;
    let last = '';
    while (!signal.aborted) {
      try {
        const crossed = crossedThresholds(this.#thresholds, await observe()).join();
        if (crossed !== last) {
          log.info({ crossed }, 'memory eviction threshold crossed');
          onCrossed();
        }
        last = crossed;
      } catch (error) {
        log.debug({ err: error }, 'watching the memory of the node failed');
      }
      await upkeepClock(clock).sleep(watchPeriodMs, signal);
    }
  }
}
