/** Workers that take items from a queue, reconcile them and act on the outcome. */

import { allowManyListeners } from '#apimachinery/async/abort.js';
import { isConflict } from '#apimachinery/errors/status.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { done, retry } from '#client/workqueue/outcome.js';
import type { WorkQueue } from '#client/workqueue/queue.js';
import type { Logger } from '#daemon/log/logger.js';

export interface WorkersOptions<K> {
  readonly queue: WorkQueue<K>;
  /** Number of workers. */
  readonly concurrency: number;
  /** `signal` aborts when the workers should stop. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a reconcile without a return statement is done
  readonly reconcile: (item: K, signal: AbortSignal) => Promise<Outcome | undefined | void>;
  readonly log: Logger;
  /** Retries before an item is dropped until it changes; absent: unlimited. */
  readonly maxRetries?: number;
}

/**
 * Runs until `signal` aborts, then shuts the queue down, finishes the items in progress and resolves. Items that were
 * ready but not started are dropped; the next run finds the same state in the API.
 */
export async function runWorkers<K>(options: WorkersOptions<K>, signal: AbortSignal): Promise<void> {
  const { queue } = options;
  const stop = () => queue.shutDown();
  if (signal.aborted) stop();
  allowManyListeners(signal).addEventListener('abort', stop, { once: true });
  await Promise.all(Array.from({ length: Math.max(1, options.concurrency) }, () => work(options, signal)));
  signal.removeEventListener('abort', stop);
}

async function work<K>(options: WorkersOptions<K>, signal: AbortSignal): Promise<void> {
  const { queue } = options;
  for (;;) {
    const item = queue.tryGet() ?? (await queue.get());
    if (item === undefined) return;
    if (signal.aborted) {
      queue.done(item);
      continue;
    }
    try {
      interpret(item, await attempt(options, item, signal), options);
    } finally {
      queue.done(item);
    }
  }
}

async function attempt<K>(options: WorkersOptions<K>, item: K, signal: AbortSignal): Promise<Outcome> {
  try {
    return (await options.reconcile(item, signal)) ?? done;
  } catch (error) {
    return retry(error);
  }
}

/** The one place that turns an outcome into a queue call and a log message. */
function interpret<K>(item: K, outcome: Outcome, { queue, log, maxRetries }: WorkersOptions<K>): void {
  if (queue.shuttingDown) return;
  switch (outcome.kind) {
    case 'done':
      queue.forget(item);
      return;
    case 'requeueAfter':
      queue.forget(item);
      queue.addAfter(item, outcome.ms);
      return;
    case 'wait':
      queue.addAfter(item, outcome.ms, { isPause: true });
      return;
    case 'terminal':
      queue.forget(item);
      log.error({ item, err: outcome.error }, 'reconcile failed permanently');
      return;
    case 'retry': {
      const retries = queue.requeues(item);
      if (maxRetries !== undefined && retries >= maxRetries) {
        queue.forget(item);
        log.error({ item, err: outcome.error, retries }, 'reconcile failed: dropped until the object changes');
        return;
      }
      // A stale cache is normal: the next pass sees the newer object.
      if (isConflict(outcome.error))
        log.debug({ item, err: outcome.error, retries }, 'reconcile met a conflict: retrying');
      else log.warn({ item, err: outcome.error, retries }, 'reconcile failed: retrying');
      queue.addRateLimited(item);
      return;
    }
    default:
      outcome satisfies never;
  }
}
