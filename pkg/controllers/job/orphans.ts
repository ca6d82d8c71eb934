/** Removes the finalizer from pods whose job is deleted or finished. */
import { jobs as jobType } from '#api/batch/v1/resources.gen.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf, splitKey } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerOf } from '#controllers/framework/owners.js';
import { isFinished } from '#controllers/job/status.js';
import { isTrackedPod, untrackPatch } from '#controllers/job/tracking.js';

export class OrphanPods {
  readonly #context: ControllerContext;
  readonly #jobs: Informer<Job>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, caches: { readonly jobs: Informer<Job>; readonly pods: Informer<Pod> }) {
    this.#context = context;
    this.#jobs = caches.jobs;
    this.#pods = caches.pods;
    this.#loop = new ReconcileLoop(context, {
      name: 'job_orphan_pod',
      concurrency: 1,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  /** Must be called with every observed pod, and with all pods of a deleted or finished job. */
  add(pod: Pod): void {
    if (this.#isOrphan(pod)) this.#loop.queue.add(keyOf(pod));
  }

  #isOrphan(pod: Pod): boolean {
    if (!isTrackedPod(this.#context.dialect, pod)) return false;
    const reference = controllerOf(pod);
    if (reference === undefined) return true;
    if (reference.kind !== jobType.kind) return true;
    const job = this.#jobs.get(keyFor(pod.metadata.namespace, reference.name));
    return job === undefined || job.metadata.uid !== reference.uid || isFinished(job);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { client, dialect } = this.#context;
    const pod = this.#pods.get(key);
    if (pod === undefined || !this.#isOrphan(pod)) return done;
    const reference = controllerOf(pod);
    const { namespace, name } = splitKey(key);
    // The cache may not show the job yet.
    if (reference?.kind === jobType.kind && (await this.#isCounted(namespace, reference))) return done;
    try {
      const updated = await client
        .resource(podType)
        .patch(name, untrackPatch(dialect, pod), { type: 'strategic', namespace });
      this.#loop.written.wrote(key, this.#pods, updated);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return done;
  }

  async #isCounted(
    namespace: string,
    { name, uid }: { readonly name: string; readonly uid: string },
  ): Promise<boolean> {
    try {
      const job = await this.#context.client.resource(jobType).get(name, { namespace });
      return job.metadata.uid === uid && !isFinished(job);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}
