/** Informers → keyed queue → reconcile → outcome: the loop that every controller runs. */
import type { Outcome } from '#client/workqueue/outcome.js';
import { done, retry } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import type { RateLimiter } from '#client/workqueue/rate-limiter.js';
import { runWorkers } from '#client/workqueue/workers.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import type { Logger } from '#daemon/log/logger.js';

export interface LoopOptions {
  readonly name: string;
  /** Keys worked on at once. */
  readonly concurrency: number;
  /** One pass over a key. Reads the caches anew; must not remember why it was called. Throwing means retry. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome | undefined>;
  /** Failures in a row after which a key waits for its object to change; absent: never given up. */
  readonly maxRetries?: number;
  readonly rateLimiter?: RateLimiter<string>;
}

export class ReconcileLoop {
  readonly queue: WorkQueue<string>;
  readonly log: Logger;
  readonly #context: ControllerContext;
  readonly #options: LoopOptions;

  constructor(context: ControllerContext, options: LoopOptions) {
    this.#context = context;
    this.#options = options;
    this.log = context.log.child({ controller: options.name });
    this.queue = new WorkQueue<string>({
      clock: context.clock,
      name: options.name,
      metrics: context.metrics.queues,
      ...(options.rateLimiter === undefined ? {} : { rateLimiter: options.rateLimiter }),
    });
  }

  /** Waits for the caches, then works until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (!(await cachesSynced(this.#context, signal))) {
      this.queue.shutDown();
      return;
    }
    await this.work(signal);
  }

  /** Works until `signal` aborts, without waiting for the caches. */
  async work(signal: AbortSignal): Promise<void> {
    const { concurrency, maxRetries } = this.#options;
    await runWorkers(
      {
        queue: this.queue,
        concurrency,
        reconcile: (key, stop) => this.#measured(key, stop),
        log: this.log,
        ...(maxRetries === undefined ? {} : { maxRetries }),
      },
      signal,
    );
  }

  async #measured(key: string, signal: AbortSignal): Promise<Outcome> {
    const { clock, metrics } = this.#context;
    const startMs = clock.monotonic();
    let outcome: Outcome;
    try {
      outcome = (await this.#options.reconcile(key, signal)) ?? done;
    } catch (error) {
      outcome = retry(error);
    }
    metrics.reconciled(this.#options.name, outcome.kind, clock.monotonic() - startMs);
    return outcome;
  }
}

/** False when `signal` aborted before all shared caches were filled. */
export async function cachesSynced(context: ControllerContext, signal: AbortSignal): Promise<boolean> {
  try {
    await context.informers.waitForSync(signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
