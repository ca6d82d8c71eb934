/** Runs jobs: creates pods until enough have succeeded, and counts each pod once. */
import { jobs as jobType } from '#api/batch/v1/resources.gen.js';
import type { Job, JobStatus } from '#api/batch/v1/types.gen.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import { allWithin, maxConcurrentWrites } from '#controllers/framework/bounded-concurrency.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { ownedBy, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerReference } from '#controllers/framework/owners.js';
import { PodControl } from '#controllers/framework/pod-control.js';
import { PodOwners } from '#controllers/framework/pod-owners.js';
import { slowStart } from '#controllers/framework/slow-start.js';
import { countPods, type JobObservation } from '#controllers/job/counts.js';
import { JobMetrics, type SyncAction } from '#controllers/job/metrics.js';
import { OrphanPods } from '#controllers/job/orphans.js';
import { type PodAction, planJob } from '#controllers/job/plan.js';
import { jobPod } from '#controllers/job/pod.js';
import {
  ended,
  isFinished,
  type PodOutcome,
  planStatus,
  type StatusPlan,
  sameStatus,
} from '#controllers/job/status.js';
import {
  allCounted,
  countReleased,
  isTrackedJob,
  isTrackedPod,
  recordFinished,
  uidOf,
  untrackPatch,
} from '#controllers/job/tracking.js';

export interface JobOptions {
  readonly concurrency: number;
  /** The feature gate JobTrackingWithFinalizers. */
  readonly trackWithFinalizers: boolean;
  /** The feature gate JobReadyPods. */
  readonly readyPods: boolean;
}

/** The result of a plan's action, with its first error. */
interface Executed extends PodOutcome {
  readonly action: SyncAction;
  readonly error?: unknown;
}

export class JobController implements Controller {
  readonly name = 'job';
  readonly #context: ControllerContext;
  readonly #options: JobOptions;
  readonly #jobs: Informer<Job>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;
  readonly #podOwners: PodOwners<Job>;
  readonly #podControl: PodControl;
  readonly #orphans: OrphanPods;
  readonly #metrics: JobMetrics;
  /** UIDs of jobs whose caches are as new as all writes of this and earlier leaders. */
  readonly #caughtUp = new Set<string>();

  constructor(context: ControllerContext, options: JobOptions) {
    this.#context = context;
    this.#options = options;
    this.#jobs = sharedInformer(context.informers, jobType);
    this.#pods = sharedInformer(context.informers, podType);
    this.#metrics = new JobMetrics(context.metrics);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: options.concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
    this.#podOwners = new PodOwners({
      context,
      type: jobType,
      owners: this.#jobs,
      pods: this.#pods,
      loop: this.#loop,
      selector: ({ spec }) => selectorFromObject(spec.selector),
    });
    this.#podControl = new PodControl({ context, pods: this.#pods, written: this.#loop.written });
    this.#orphans = new OrphanPods(context, { jobs: this.#jobs, pods: this.#pods });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (job: Job) => this.#loop.queue.add(keyOf(job));
    const orphan = (pod: Pod) => this.#orphans.add(pod);
    const watches = [
      this.#jobs.addHandler({
        onAdd: add,
        onUpdate: (job, old) => {
          add(job);
          if (isFinished(job) && !isFinished(old)) this.#release(job);
        },
        onDelete: (job) => {
          add(job);
          this.#release(job);
        },
      }),
      this.#podOwners.watch(),
      this.#pods.addHandler({ onAdd: orphan, onUpdate: orphan }),
    ];
    await Promise.all([this.#loop.run(signal, watches), this.#orphans.run(signal)]);
  }

  /** The job no longer counts pods: remove the finalizers of its pods. */
  #release(job: Job): void {
    this.#caughtUp.delete(job.metadata.uid ?? '');
    for (const pod of ownedBy(this.#pods, job.metadata.uid ?? '')) this.#orphans.add(pod);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { clock, events } = this.#context;
    const job = this.#jobs.get(key);
    if (job === undefined || isFinished(job)) return done;
    const { completionMode } = job.spec;
    if (completionMode !== undefined && completionMode !== 'NonIndexed' && completionMode !== 'Indexed') {
      const message = 'Skipped Job sync because completion mode is unknown';
      events.record(job, 'Warning', 'UnknownCompletionMode', message);
      return done;
    }
    const startMs = clock.monotonic();
    const result: { action: SyncAction; failed: boolean } = { action: 'reconciling', failed: true };
    try {
      const outcome = await this.#sync(job, (action) => {
        result.action = action;
      });
      result.failed = outcome.kind === 'retry';
      if (result.failed) this.#caughtUp.delete(job.metadata.uid ?? '');
      return outcome;
    } catch (error) {
      // A write without a response may have succeeded.
      this.#caughtUp.delete(job.metadata.uid ?? '');
      // The job no longer exists.
      if (!isNotFound(error)) throw error;
      result.failed = false;
      return done;
    } finally {
      this.#metrics.synced(job, { ...result, ms: clock.monotonic() - startMs });
    }
  }

  async #sync(job: Job, report: (action: SyncAction) => void): Promise<Outcome> {
    const { clock, dialect } = this.#context;
    const marked = isTrackedJob(dialect, job);
    const tracked = marked && this.#options.trackWithFinalizers;
    if (marked && !tracked) await this.#unmark(job);
    if (!(await this.#catchUp(job))) return requeueAfter(0);
    const pods = await this.#podOwners.claim(job, tracked ? { finalizers: [dialect.jobTracking] } : {});
    const observation: JobObservation = { dialect, job, pods, tracked };
    const counts = countPods(observation);
    const plan = planJob(observation, counts, clock.now());
    const outcome = plan.action === undefined ? idle(plan.managed) : await this.#execute(job, plan.action, tracked);
    report(outcome.action);
    const { readyPods } = this.#options;
    const next = planStatus(observation, { counts, plan, outcome }, { readyPods }, clock.now());
    // Do not count pods that were just deleted as surplus.
    const deleted = new Set(plan.action?.kind === 'delete' && plan.action.uncounted ? plan.action.pods : []);
    const counting = pods.filter((pod) => !deleted.has(pod));
    if (tracked) await this.#track(job, counting, next);
    else await this.#write(job, pods, next);
    if (outcome.error !== undefined) return retry(outcome.error);
    return plan.requeueAfterMs === undefined ? done : requeueAfter(plan.requeueAfterMs);
  }

  /**
   * True when the caches are as new as the API server. A lagging cache does not show writes of an earlier leader or writes
   * without a response, so pods would be counted or created twice.
   */
  async #catchUp(job: Job): Promise<boolean> {
    const { client } = this.#context;
    const { uid = '', namespace = '', name = '' } = job.metadata;
    if (this.#caughtUp.has(uid)) return true;
    const labelSelector = selectorFromObject(job.spec.selector).toString();
    const [current, { items }] = await Promise.all([
      client.resource(jobType).get(name, { namespace }),
      client.resource(podType).list({ namespace, labelSelector }),
    ]);
    const key = keyOf(job);
    const { written } = this.#loop;
    const live = new Set(items.map(uidOf));
    written.wrote(key, this.#jobs, current);
    for (const pod of items) written.wrote(key, this.#pods, pod);
    for (const pod of ownedBy(this.#pods, uid)) if (!live.has(uidOf(pod))) written.deleted(key, this.#pods, pod);
    this.#caughtUp.add(uid);
    return written.waitMs(key) === 0;
  }

  async #execute(job: Job, action: PodAction, tracked: boolean): Promise<Executed> {
    const { dialect } = this.#context;
    if (action.kind === 'delete') {
      const results = await allWithin(action.pods, maxConcurrentWrites, (pod) =>
        this.#delete(job, pod, action.uncounted),
      );
      const failures = results.filter((result) => result !== undefined);
      const deleted = results.length - failures.length;
      return { action: 'pods_deleted', created: 0, deleted, error: failures[0] };
    }
    const reference = controllerReference(dialect, jobType, job);
    const indexes = action.indexes.values();
    const { succeeded, error } = await slowStart(action.indexes.length, () =>
      this.#podControl.create(job, jobPod(dialect, job, { index: indexes.next().value, tracked, reference })),
    );
    const failed = error === undefined || isNamespaceTerminating(error) ? {} : { error };
    return { action: 'pods_created', created: succeeded, deleted: 0, ...failed };
  }

  /** Returns the error. The finalizer of a surplus pod is removed first, so that it does not count as a failure. */
  async #delete(job: Job, pod: Pod, uncounted: boolean): Promise<unknown> {
    try {
      if (uncounted) await this.#untrack(job, pod);
      await this.#podControl.delete(job, pod);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Writes the status of a job without finalizers, from the number of existing pods. */
  async #write(job: Job, pods: readonly Pod[], next: StatusPlan): Promise<void> {
    const { dialect, clock } = this.#context;
    await allWithin(
      pods.filter((pod) => isTrackedPod(dialect, pod)),
      maxConcurrentWrites,
      (pod) => this.#untrack(job, pod),
    );
    const { uncountedTerminatedPods: _, ...counted } = next.status;
    const status = next.end === undefined ? counted : ended(counted, next.end, clock.now());
    if (status.conditions === job.status?.conditions && sameStatus(status, job.status)) return;
    this.#announce(await this.#writeStatus(job, status), next);
  }

  /** Counts pods with finalizers; see `tracking.ts`. */
  async #track(job: Job, pods: readonly Pod[], next: StatusPlan): Promise<void> {
    const { dialect, clock } = this.#context;
    const finishing = next.end !== undefined;
    const { status, release } = recordFinished({ dialect, job: { ...job, status: next.status }, pods, finishing });
    let current = job;
    if (!sameStatus(status, job.status)) {
      current = await this.#writeStatus(job, status);
      this.#announce(current, { ...next, end: undefined });
    }
    const failures = await allWithin(release, maxConcurrentWrites, (pod) => this.#tryUntrack(job, pod));
    const unreleased = new Set(release.filter((_, i) => failures[i] !== undefined).map(uidOf));
    const tracked = pods.filter(
      (pod) => isTrackedPod(dialect, pod) && (!release.includes(pod) || unreleased.has(uidOf(pod))),
    );
    const counted = countReleased(current.status ?? {}, new Set(tracked.map(uidOf)));
    const end = tracked.length === 0 && allCounted(counted) ? next.end : undefined;
    const last = end === undefined ? counted : ended(counted, end, clock.now());
    if (!sameStatus(last, current.status)) this.#announce(await this.#writeStatus(current, last), { end });
    const failure = failures.find((each) => each !== undefined);
    if (failure !== undefined) throw failure;
  }

  /** Returns the error. */
  async #tryUntrack(job: Job, pod: Pod): Promise<unknown> {
    try {
      await this.#untrack(job, pod);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #untrack(job: Job, pod: Pod): Promise<void> {
    const { client, dialect } = this.#context;
    if (!isTrackedPod(dialect, pod)) return;
    const { name = '', namespace = '' } = pod.metadata;
    try {
      const updated = await client
        .resource(podType)
        .patch(name, untrackPatch(dialect, pod), { type: 'strategic', namespace });
      this.#loop.written.wrote(keyOf(job), this.#pods, updated);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#loop.written.deleted(keyOf(job), this.#pods, pod);
    }
  }

  /** The feature was disabled: count the job's existing pods from now on. */
  async #unmark(job: Job): Promise<void> {
    const { client, dialect } = this.#context;
    const { name = '', namespace = '' } = job.metadata;
    const patch = { metadata: { annotations: { [dialect.jobTracking]: null } } };
    const unmarked = await client.resource(jobType).patch(name, patch, { type: 'merge', namespace });
    this.#loop.written.wrote(keyOf(job), this.#jobs, unmarked);
  }

  /** Throws 409 when the job has changed, so that counters always grow from the current status. */
  async #writeStatus(job: Job, status: JobStatus): Promise<Job> {
    const written = await this.#context.client.resource(jobType).updateStatus({ ...job, status });
    this.#loop.written.wrote(keyOf(job), this.#jobs, written);
    this.#metrics.podsFinished(job, job.status, status);
    return written;
  }

  /** Records events and metrics for changes of the status. */
  #announce(
    job: Job,
    { transition, end }: { transition?: StatusPlan['transition']; end?: StatusPlan['end'] | undefined },
  ): void {
    const { events } = this.#context;
    if (transition !== undefined) {
      events.record(job, 'Normal', transition, transition === 'Suspended' ? 'Job suspended' : 'Job resumed');
    }
    if (end === undefined) return;
    this.#metrics.finished(job, end.type === 'Complete' ? 'succeeded' : 'failed');
    if (end.type === 'Failed') {
      events.record(job, 'Warning', end.reason, end.message);
      return;
    }
    if (job.spec.completions !== undefined && (job.status?.succeeded ?? 0) > job.spec.completions) {
      const message = 'Too many succeeded pods running after completion count reached';
      events.record(job, 'Warning', 'TooManySucceededPods', message);
    }
    events.record(job, 'Normal', 'Completed', 'Job completed');
  }
}

function idle(managed: boolean): Executed {
  return { action: managed ? 'tracking' : 'reconciling', created: 0, deleted: 0 };
}
