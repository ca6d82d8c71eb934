/** The way down: each part in its turn, none waited for without end. */
import type { Clock } from '#apimachinery/clock.js';
import type { Closable } from '#cmd/orch/context/closable.js';
import type { Logger } from '#daemon/log/logger.js';

export interface StopOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Longest time that is waited for one part; ms. It is told to stop, but what follows does not wait for it. */
  readonly limitMs: number;
  /** Told which part is waited for. */
  readonly onStopping?: (name: string) => void;
  /** Pods go on: see `leave` of Closable. */
  readonly leavesPods?: boolean;
}

/** Closes the parts, the last one first. Never rejects: failures and parts that do not stop are in the log. */
export async function stopParts(parts: readonly Closable[], options: StopOptions): Promise<void> {
  const { clock, log, limitMs, onStopping, leavesPods = false } = options;
  for (const part of [...parts].reverse()) {
    try {
      onStopping?.(part.name);
    } catch (error) {
      log.warn({ err: error, part: part.name }, 'nobody can be told which part is being stopped');
    }
    const startedMs = clock.monotonic();
    const over = new AbortController();
    const closed = endOf(part, leavesPods)
      .catch((error: unknown) => log.error({ err: error, part: part.name }, 'a part of the cluster did not stop'))
      .then(() => true);
    const stopped = await Promise.race([closed, clock.sleep(limitMs, over.signal).then(() => false)]);
    over.abort();
    const tookMs = Math.round(clock.monotonic() - startedMs);
    if (stopped) log.info({ part: part.name, tookMs }, 'a part of the cluster stopped');
    else
      log.error({ part: part.name, limitMs }, 'a part of the cluster does not stop; going on without waiting for it');
  }
}

function endOf(part: Closable, leavesPods: boolean): Promise<void> {
  return leavesPods && part.leave !== undefined ? part.leave() : part.close();
}

/** Parts that end beside each other. */
export class PartGroup implements Closable {
  readonly name: string;
  readonly #parts: Closable[] = [];

  constructor(name: string) {
    this.name = name;
  }

  push(part: Closable): void {
    this.#parts.push(part);
  }

  /** Rejects with the first failure, when all have ended. */
  close(): Promise<void> {
    return this.#end(false);
  }

  /** The same. */
  leave(): Promise<void> {
    return this.#end(true);
  }

  async #end(leavesPods: boolean): Promise<void> {
    const results = await Promise.allSettled(this.#parts.map((part) => endOf(part, leavesPods)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}
