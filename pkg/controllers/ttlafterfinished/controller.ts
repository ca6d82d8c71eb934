/** Deletes finished jobs and their pods when their `ttlSecondsAfterFinished` has passed. */
import { jobs as jobType } from '#api/batch/v1/resources.gen.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf, splitKey } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { exponentialBuckets } from '#daemon/metrics/metric.js';

const deletionDuration = {
  name: 'ttl_after_finished_controller_job_deletion_duration_seconds',
  help: 'The time it took to delete the job since it became eligible for deletion',
  buckets: exponentialBuckets(0.1, 2, 14),
};

export interface TTLAfterFinishedOptions {
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
      // The cache may lag behind an extension of the time.
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

/**
 * When the job expires (ms); undefined for a job without TTL, in deletion, or unfinished. Throws when a finished job has
 * no finish time. Pure.
 */
export function expiryMs(job: Job): number | undefined {
  const { ttlSecondsAfterFinished } = job.spec;
  if (ttlSecondsAfterFinished === undefined || job.metadata.deletionTimestamp !== undefined) return undefined;
  const end = job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  if (end === undefined) return undefined;
  const finishedMs = end.lastTransitionTime === undefined ? Number.NaN : parseTime(end.lastTransitionTime);
  if (Number.isNaN(finishedMs)) {
    const { namespace, name } = job.metadata;
    throw new Error(`unable to find the time when the Job ${namespace}/${name} finished`);
  }
  return finishedMs + ttlSecondsAfterFinished * 1000;
}
