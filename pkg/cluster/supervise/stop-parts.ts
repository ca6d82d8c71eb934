/** Stops the parts of a cluster, each within a time limit. */
import type { Clock } from '#apimachinery/clock.js';
import type { Part } from '#cluster/config/cluster-context.js';
import type { Logger } from '#daemon/log/logger.js';

export interface StopOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Longest wait for one part; ms. The next part is stopped after it, whether the part has stopped or not. */
  readonly limitMs: number;
  /** Called with the name of the part that is being stopped. */
  readonly onStopping?: (name: string) => void;
  /** Keep what pods need: call `leave` instead of `close`. */
  readonly leavesPods?: boolean;
}

/** Closes the parts, the last one first. Never rejects: failures and parts that do not stop are logged. */
export async function stopParts(parts: readonly Part[], options: StopOptions): Promise<void> {
  const { clock, log, limitMs, onStopping, leavesPods = false } = options;
  for (const part of [...parts].reverse()) {
    try {
      onStopping?.(part.name);
    } catch (error) {
      log.warn({ err: error, part: part.name }, 'cannot record which part is being stopped');
    }
    const startedMs = clock.monotonic();
    const over = new AbortController();
    const closed = stopPart(part, leavesPods)
      .catch((error: unknown) => log.error({ err: error, part: part.name }, 'part of the cluster failed to stop'))
      .then(() => true);
    const stopped = await Promise.race([closed, clock.sleep(limitMs, over.signal).then(() => false)]);
    over.abort();
    const tookMs = Math.round(clock.monotonic() - startedMs);
    if (stopped) log.info({ part: part.name, tookMs }, 'part of the cluster stopped');
    else log.error({ part: part.name, limitMs }, 'part of the cluster does not stop; stopping the next one');
  }
}

function stopPart(part: Part, leavesPods: boolean): Promise<void> {
  return leavesPods && part.leave !== undefined ? part.leave() : part.close();
}

/** Parts that stop at the same time. */
export class PartGroup implements Part {
  readonly name: string;
  readonly #parts: Part[] = [];

  constructor(name: string) {
    this.name = name;
  }

  push(part: Part): void {
    this.#parts.push(part);
  }

  /** Rejects with the first failure, after all parts have stopped. */
  close(): Promise<void> {
    return this.#stop(false);
  }

  /** Rejects like `close`. */
  leave(): Promise<void> {
    return this.#stop(true);
  }

  async #stop(leavesPods: boolean): Promise<void> {
    const results = await Promise.allSettled(this.#parts.map((part) => stopPart(part, leavesPods)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}
