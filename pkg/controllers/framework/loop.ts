/**
 * Informers → keyed queue → reconcile → outcome: the loop that every controller runs.
 *
 * A controller never reconciles on data older than its own writes. It passes the response to each write to
 * `written.wrote(key, cache, response)`, and each object that it deleted (or that no longer exists) to
 * `written.deleted(key, cache, object)`. `key` is the reconciled key, and `cache` the informer of such objects. The key
 * is not reconciled again until those caches show the writes. Usually the event that shows a write also enqueues the
 * key; otherwise the key is polled with growing pauses.
 *
 *     const created = await client.resource(podType).create(pod);
 *     this.#loop.written.wrote(key, this.#pods, created);
 */
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict } from '#apimachinery/errors/status.js';
import { done, type Outcome, retry } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import type { RateLimiter } from '#client/workqueue/rate-limiter.js';
import { runWorkers } from '#client/workqueue/workers.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { type LoopReport, OutcomeJournal, type Reporting } from '#controllers/framework/loop-report.js';
import { WrittenObjects } from '#controllers/framework/written-objects.js';
import type { Logger } from '#daemon/log/logger.js';
import type { SpanOutcome } from '#daemon/tracing/tracer.js';

export interface LoopOptions {
  readonly name: string;
  /** The queue's name in metrics; by default `name`. */
  readonly queueName?: string;
  /** The number of workers. */
  readonly concurrency: number;
  /** Reconciles one key from the caches' current content. An exception means retry. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome | undefined>;
  /** The number of consecutive failures after which a key waits for its object to change; by default unlimited. */
  readonly maxRetries?: number;
  readonly rateLimiter?: RateLimiter<string>;
}

export class ReconcileLoop implements Reporting {
  readonly name: string;
  readonly queue: WorkQueue<string>;
  readonly log: Logger;
  /** Writes that the caches do not show yet; see above. */
  readonly written: WrittenObjects;
  readonly #context: ControllerContext;
  readonly #options: LoopOptions;
  readonly #journal: OutcomeJournal;
  readonly #spanName: string;

  constructor(context: ControllerContext, options: LoopOptions) {
    this.#context = context;
    this.#options = options;
    this.name = options.name;
    this.log = context.log.child({ controller: options.name });
    this.written = new WrittenObjects(context.clock);
    this.#journal = new OutcomeJournal(context.clock);
    this.#spanName = `Reconcile ${options.name}`;
    this.queue = new WorkQueue<string>({
      clock: context.clock,
      name: options.queueName ?? options.name,
      metrics: context.metrics.queues,
      ...(options.rateLimiter === undefined ? {} : { rateLimiter: options.rateLimiter }),
    });
    context.onLoop?.(this);
  }

  report(limit: number): LoopReport {
    const { name, concurrency } = this.#options;
    return { name, concurrency, ...this.#journal.report(this.queue, limit) };
  }

  /** Waits for the caches, then works until `signal` aborts. At the end, calls `watches` to remove event handlers. */
  async run(signal: AbortSignal, watches: readonly (() => void)[] = []): Promise<void> {
    try {
      if (await cachesSynced(this.#context, signal)) await this.work(signal);
      else this.queue.shutDown();
    } finally {
      for (const end of watches) end();
    }
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
    const waitMs = this.written.waitMs(key);
    if (waitMs > 0) {
      metrics.reconciled(this.#options.name, 'wait', 0);
      return { kind: 'wait', ms: waitMs };
    }
    const startMs = clock.monotonic();
    const span = this.#context.tracer?.begin(this.#spanName, key);
    let outcome: Outcome;
    try {
      const { reconcile } = this.#options;
      outcome =
        (await (span === undefined ? reconcile(key, signal) : span.within(() => reconcile(key, signal)))) ?? done;
    } catch (error) {
      outcome = retry(error);
    }
    // Retrying does not help: the namespace is being deleted with the key's object.
    if (outcome.kind === 'retry' && isNamespaceTerminating(outcome.error)) outcome = done;
    this.#journal.record(key, outcome);
    metrics.reconciled(this.#options.name, outcome.kind, clock.monotonic() - startMs);
    span?.end(spanOutcome({ controller: this.#options.name, key, outcome, requeues: this.queue.requeues(key) }));
    return outcome;
  }
}

/** False if `signal` aborts before all shared caches are filled. */
export async function cachesSynced(context: ControllerContext, signal: AbortSignal): Promise<boolean> {
  try {
    await context.informers.waitForSync(signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

interface Reconcile {
  /** The loop's name. */
  readonly controller: string;
  /** Usually `namespace/name`. */
  readonly key: string;
  readonly outcome: Outcome;
  /** The number of consecutive failures before this reconcile. */
  readonly requeues: number;
}

const namespaced = /^([^/]+)\/([^/]+)$/;

function spanOutcome({ controller, key, outcome, requeues }: Reconcile): SpanOutcome {
  const { kind } = outcome;
  const error = 'error' in outcome ? outcome.error : undefined;
  const [, namespace, name] = namespaced.exec(key) ?? [];
  const result = error !== undefined && isConflict(error) ? 'conflict' : kind;
  return {
    attributes: {
      controller,
      key,
      ...(namespace === undefined ? {} : { 'object.namespace': namespace }),
      ...(name === undefined ? {} : { 'object.name': name }),
      result,
      requeues,
      ...('ms' in outcome ? { 'requeue.after_ms': Math.round(outcome.ms) } : {}),
    },
    // As in the log, a conflict does not count as a failure: it only shows that the cache was stale.
    failed: error !== undefined && result !== 'conflict',
    ...(error === undefined ? {} : { message: messageOf(error) }),
  };
}
