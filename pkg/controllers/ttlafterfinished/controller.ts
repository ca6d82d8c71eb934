/** Deletes finished jobs, with their pods, when their `ttlSecondsAfterFinished` is over. */
import { jobs as jobType } from '#api/batch/v1/resources.gen.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf, splitKey } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { expiryMs } from '#controllers/ttlafterfinished/plan.js';
import { exponentialBuckets } from '#daemon/metrics/metric.js';

const deletionDuration = {
  name: 'ttl_after_finished_controller_job_deletion_duration_seconds',
  help: 'The time it took to delete the job since it became eligible for deletion',
  buckets: exponentialBuckets(0.1, 2, 14),
};

export interface TTLAfterFinishedOptions {
  /** Jobs worked on at once. */
  readonly concurrency: number;
}

export class TTLAfterFinishedController implements Controller {
  readonly name = 'ttl-after-finished';
  readonly #context: ControllerContext;
  readonly #jobs: Informer<Job>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, options: TTLAfterFinishedOptions) {
    this.#context = context;
    this.#jobs = sharedInformer(context.informers, jobType);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: options.concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (job: Job) => this.#loop.queue.add(keyOf(job));
    await this.#loop.run(signal, [this.#jobs.addHandler({ onAdd: add, onUpdate: add })]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { client, clock, metrics } = this.#context;
    const cached = this.#jobs.get(key);
    const expected = cached === undefined ? undefined : expiryMs(cached);
    if (cached === undefined || expected === undefined) return done;
    const waitMs = expected - clock.now();
    if (waitMs > 0) return requeueAfter(waitMs);
    const { namespace, name } = splitKey(key);
    try {
      // The cache may lag, and the time may have been prolonged at the last moment.
      const job = await client.resource(jobType).get(name, { namespace });
      const expiry = expiryMs(job);
      if (expiry === undefined) return done;
      const leftMs = expiry - clock.now();
      if (leftMs > 0) return requeueAfter(leftMs);
      const { uid = '', resourceVersion = '' } = job.metadata;
      await client.resource(jobType).delete(name, {
        namespace,
        propagationPolicy: 'Foreground',
        preconditions: { uid, resourceVersion },
      });
      this.#loop.written.deleted(key, this.#jobs, job);
      metrics.observe(deletionDuration, (clock.now() - expiry) / 1000);
    } catch (error) {
      if (isNotFound(error)) return done;
      if (isConflict(error)) return retry(error);
      throw error;
    }
    return done;
  }
}
