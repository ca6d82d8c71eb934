/** Unstages volumes in the background, again and again until it succeeds. */
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';

export interface UnstagerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends all retries. */
  readonly signal: AbortSignal;
  /** Throws Error; does nothing for a volume that is in use again. */
  readonly unstage: (key: string) => Promise<void>;
}

/** Times between attempts, as in 1.24. */
const retryMs = { initialMs: 500, maxMs: 122_000 };

export class Unstager {
  readonly #options: UnstagerOptions;
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: UnstagerOptions) {
    this.#options = options;
  }

  /** Begins to unstage the volume unless that is already under way. */
  request(key: string): void {
    if (this.#running.has(key) || this.#options.signal.aborted) return;
    const running = this.#run(key).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
  }

  /** Resolves once nothing is being unstaged. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Never rejects. */
  async #run(key: string): Promise<void> {
    const { clock, log, signal, unstage } = this.#options;
    const backoff = new Backoff(retryMs);
    while (!signal.aborted) {
      try {
        await unstage(key);
        return;
      } catch (error) {
        log.error({ err: error, volume: key }, 'failed to unstage a volume');
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
  }
}
