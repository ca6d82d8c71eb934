/** Runs jobs: makes pods until enough of them have succeeded, and counts each once. */
import { jobs as jobType } from '#api/batch/v1/resources.gen.js';
import type { Job, JobStatus } from '#api/batch/v1/types.gen.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import { allWithin, writesAtOnce } from '#controllers/framework/bounded.js';
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
  uidOf,
  untrackPatch,
  writeDown,
} from '#controllers/job/tracking.js';

export interface JobOptions {
  /** Jobs worked on at once. */
  readonly concurrency: number;
  /** Feature gate JobTrackingWithFinalizers. */
  readonly trackWithFinalizers: boolean;
  /** Feature gate JobReadyPods. */
  readonly readyPods: boolean;
}

/** What a pass did, and what went wrong on the way. */
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
  /** UIDs of jobs that the caches are known to show no older than this controller or an earlier one left them. */
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

  /** The job counts no more: whatever still waits to be counted is let go. */
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
    const pass: { action: SyncAction; failed: boolean } = { action: 'reconciling', failed: true };
    try {
      const outcome = await this.#sync(job, (action) => {
        pass.action = action;
      });
      pass.failed = outcome.kind === 'retry';
      if (pass.failed) this.#caughtUp.delete(job.metadata.uid ?? '');
      return outcome;
    } catch (error) {
      // A write that got no answer may have been done.
      this.#caughtUp.delete(job.metadata.uid ?? '');
      // The job is gone: its pods are not its own any more.
      if (!isNotFound(error)) throw error;
      pass.failed = false;
      return done;
    } finally {
      this.#metrics.synced(job, { ...pass, ms: clock.monotonic() - startMs });
    }
  }

  async #sync(job: Job, did: (action: SyncAction) => void): Promise<Outcome> {
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
    did(outcome.action);
    const { readyPods } = this.#options;
    const next = planStatus(observation, { counts, plan, outcome }, { readyPods }, clock.now());
    // A pod that has just been taken away is not to be counted, though it is seen as it was.
    const gone = new Set(plan.action?.kind === 'delete' && plan.action.uncounted ? plan.action.pods : []);
    const counting = pods.filter((pod) => !gone.has(pod));
    if (tracked) await this.#track(job, counting, next);
    else await this.#write(job, pods, next);
    if (outcome.error !== undefined) return retry(outcome.error);
    return plan.requeueAfterMs === undefined ? done : requeueAfter(plan.requeueAfterMs);
  }

  /**
   * True when the caches are as new as the API server. What an earlier leader counted, or what got no answer, a cache
   * that lags behind shows as it was before: seen as such, it would be counted or created again.
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
      const results = await allWithin(action.pods, writesAtOnce, (pod) => this.#delete(job, pod, action.uncounted));
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

  /** Why the pod could not be deleted. A pod that is no failure of the job loses its finalizer first. */
  async #delete(job: Job, pod: Pod, uncounted: boolean): Promise<unknown> {
    try {
      if (uncounted) await this.#untrack(job, pod);
      await this.#podControl.delete(job, pod);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Without finalizers the status says how many pods there are. */
  async #write(job: Job, pods: readonly Pod[], next: StatusPlan): Promise<void> {
    const { dialect, clock } = this.#context;
    await allWithin(
      pods.filter((pod) => isTrackedPod(dialect, pod)),
      writesAtOnce,
      (pod) => this.#untrack(job, pod),
    );
    const { uncountedTerminatedPods: _, ...counted } = next.status;
    const status = next.end === undefined ? counted : ended(counted, next.end, clock.now());
    if (status.conditions === job.status?.conditions && sameStatus(status, job.status)) return;
    this.#announce(await this.#writeStatus(job, status), next);
  }

  /** With finalizers: writes down, lets go, counts; see `tracking.ts`. */
  async #track(job: Job, pods: readonly Pod[], next: StatusPlan): Promise<void> {
    const { dialect, clock } = this.#context;
    const finishing = next.end !== undefined;
    const { status, release } = writeDown({ dialect, job: { ...job, status: next.status }, pods, finishing });
    let current = job;
    if (!sameStatus(status, job.status)) {
      current = await this.#writeStatus(job, status);
      this.#announce(current, { ...next, end: undefined });
    }
    const failures = await allWithin(release, writesAtOnce, (pod) => this.#released(job, pod));
    const kept = new Set(release.filter((_, i) => failures[i] !== undefined).map(uidOf));
    const tracked = pods.filter(
      (pod) => isTrackedPod(dialect, pod) && (!release.includes(pod) || kept.has(uidOf(pod))),
    );
    const counted = countReleased(current.status ?? {}, new Set(tracked.map(uidOf)));
    const over = tracked.length === 0 && allCounted(counted) ? next.end : undefined;
    const last = over === undefined ? counted : ended(counted, over, clock.now());
    if (!sameStatus(last, current.status)) this.#announce(await this.#writeStatus(current, last), { end: over });
    const failure = failures.find((each) => each !== undefined);
    if (failure !== undefined) throw failure;
  }

  /** Why the finalizer could not be taken off. */
  async #released(job: Job, pod: Pod): Promise<unknown> {
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
      const freed = await client
        .resource(podType)
        .patch(name, untrackPatch(dialect, pod), { type: 'strategic', namespace });
      this.#loop.written.wrote(keyOf(job), this.#pods, freed);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#loop.written.deleted(keyOf(job), this.#pods, pod);
    }
  }

  /** The feature was switched off: the job's pods are counted as they are from now on. */
  async #unmark(job: Job): Promise<void> {
    const { client, dialect } = this.#context;
    const { name = '', namespace = '' } = job.metadata;
    const patch = { metadata: { annotations: { [dialect.jobTracking]: null } } };
    const unmarked = await client.resource(jobType).patch(name, patch, { type: 'merge', namespace });
    this.#loop.written.wrote(keyOf(job), this.#jobs, unmarked);
  }

  /** Throws 409 when the job has changed: nothing is counted on top of what was not seen. */
  async #writeStatus(job: Job, status: JobStatus): Promise<Job> {
    const written = await this.#context.client.resource(jobType).updateStatus({ ...job, status });
    this.#loop.written.wrote(keyOf(job), this.#jobs, written);
    this.#metrics.podsFinished(job, job.status, status);
    return written;
  }

  /** Tells what the job's status says now for the first time. */
  #announce(job: Job, { turned, end }: { turned?: StatusPlan['turned']; end?: StatusPlan['end'] | undefined }): void {
    const { events } = this.#context;
    if (turned !== undefined) {
      events.record(job, 'Normal', turned, turned === 'Suspended' ? 'Job suspended' : 'Job resumed');
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
