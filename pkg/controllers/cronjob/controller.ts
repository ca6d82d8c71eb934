/** Starts jobs on a schedule. */
import { cronjobs as cronJobType, jobs as jobType } from '#api/batch/v1/resources.gen.js';
import type { CronJob, CronJobStatus, Job } from '#api/batch/v1/types.gen.js';
import type { ObjectReference } from '#api/core/v1/types.gen.js';
import { formatTime, parseTime, upkeepClock } from '#apimachinery/clock.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import {
  type CronEvent,
  finishedType,
  jobName,
  nextStartInMs,
  observeJobs,
  outdatedJobs,
  planStart,
  type ZoneOptions,
} from '#controllers/cronjob/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { indexByController, ownedBy, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerOf, controllerReference } from '#controllers/framework/owners.js';
import { exponentialBuckets } from '#daemon/metrics/metric.js';

export interface CronJobOptions extends ZoneOptions {
  readonly concurrency: number;
}

const creationSkew = {
  name: 'cronjob_controller_cronjob_job_creation_skew_duration_seconds',
  help: 'Time between when a cronjob is scheduled to be run, and when the corresponding job is created',
  buckets: exponentialBuckets(1, 2, 10),
};

/** How often a change of the clock is detected, and the smallest difference that counts as a change. */
const clockCheckMs = 10_000;
const clockToleranceMs = 1000;

export class CronJobController implements Controller {
  readonly name = 'cronjob';
  readonly #context: ControllerContext;
  readonly #options: CronJobOptions;
  readonly #cronJobs: Informer<CronJob>;
  readonly #jobs: Informer<Job>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, options: CronJobOptions) {
    this.#context = context;
    this.#options = options;
    this.#cronJobs = sharedInformer(context.informers, cronJobType);
    this.#jobs = sharedInformer(context.informers, jobType);
    indexByController(this.#jobs);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: options.concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (cronJob: CronJob) => this.#loop.queue.add(keyOf(cronJob));
    const enqueueOwner = (job: Job) => this.#enqueueOwner(job);
    const watches = [
      this.#cronJobs.addHandler({ onAdd: add, onUpdate: (cronJob, old) => this.#changed(cronJob, old), onDelete: add }),
      this.#jobs.addHandler({
        onAdd: enqueueOwner,
        onUpdate: (job, old) => {
          if (controllerOf(old)?.uid !== controllerOf(job)?.uid) enqueueOwner(old);
          enqueueOwner(job);
        },
        onDelete: enqueueOwner,
      }),
    ];
    await Promise.all([this.#loop.run(signal, watches), this.#watchClock(signal)]);
  }

  #changed(cronJob: CronJob, old: CronJob): void {
    const { schedule, timeZone } = cronJob.spec;
    const rescheduled = schedule !== old.spec.schedule || timeZone !== old.spec.timeZone;
    const waitMs = rescheduled ? nextStartInMs(cronJob, this.#options, this.#context.clock.now()) : undefined;
    // The new schedule has no missed starts.
    if (waitMs === undefined) this.#loop.queue.add(keyOf(cronJob));
    else this.#loop.queue.addAfter(keyOf(cronJob), waitMs);
  }

  #enqueueOwner(job: Job): void {
    const reference = controllerOf(job);
    if (reference?.kind !== cronJobType.kind) return;
    const cronJob = this.#cronJobs.get(keyFor(job.metadata.namespace, reference.name));
    if (cronJob?.metadata.uid === reference.uid) this.#loop.queue.add(keyOf(cronJob));
  }

  /** Timers do not follow changes of the clock, so enqueue all cron jobs after a change. */
  async #watchClock(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    const difference = () => clock.now() - clock.monotonic();
    for (let last = difference(); !signal.aborted; ) {
      await upkeepClock(clock).sleep(clockCheckMs, signal);
      const now = difference();
      if (Math.abs(now - last) <= clockToleranceMs) continue;
      last = now;
      for (const cronJob of this.#cronJobs.list()) this.#loop.queue.add(keyOf(cronJob));
    }
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { clock } = this.#context;
    const cached = this.#cronJobs.get(key);
    if (cached === undefined) return done;
    const jobs = ownedBy(this.#jobs, cached.metadata.uid ?? '');
    const observed = observeJobs(cached, jobs, await this.#missing(cached, jobs));
    this.#record(cached, observed.events);
    const cronJob = await this.#writeStatus(cached, observed.status);
    const plan = planStart(cronJob, this.#options, clock.now());
    this.#record(cronJob, plan.events);
    if (plan.startMs !== undefined) await this.#start(cronJob, plan.startMs, plan.replace);
    for (const job of outdatedJobs(cronJob, jobs)) await this.#delete(cronJob, job.metadata);
    return plan.requeueAfterMs === undefined ? done : requeueAfter(plan.requeueAfterMs);
  }

  #record(cronJob: CronJob, events: readonly CronEvent[]): void {
    for (const { type, reason, message } of events) this.#context.events.record(cronJob, type, reason, message);
  }

  /** UIDs of active jobs that no longer exist, checked on the server because the cache may lag. */
  async #missing({ status, metadata }: CronJob, jobs: readonly Job[]): Promise<Set<string>> {
    const missing = new Set<string>();
    const existing = new Set(jobs.map((job) => job.metadata.uid));
    for (const { uid = '', name = '', namespace = metadata.namespace ?? '' } of status?.active ?? []) {
      if (existing.has(uid)) continue;
      const job = await this.#live(namespace, name);
      if (job?.metadata.uid !== uid) missing.add(uid);
    }
    return missing;
  }

  async #live(namespace: string, name: string): Promise<Job | undefined> {
    try {
      return await this.#context.client.resource(jobType).get(name, { namespace });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #start(cronJob: CronJob, startMs: number, replace: readonly ObjectReference[]): Promise<void> {
    const { clock, metrics } = this.#context;
    for (const reference of replace) await this.#delete(cronJob, reference);
    const job = await this.#create(cronJob, startMs);
    if (job === undefined) return;
    metrics.observe(creationSkew, (createdMs(job) ?? clock.now()) / 1000 - startMs / 1000);
    const replaced = new Set(replace.map(({ uid }) => uid));
    const active = (cronJob.status?.active ?? []).filter(({ uid }) => !replaced.has(uid));
    // A job from an earlier, interrupted reconcile may be finished already.
    if (finishedType(job) === undefined) active.push(this.#reference(job));
    await this.#writeStatus(cronJob, { ...cronJob.status, active, lastScheduleTime: formatTime(startMs) });
  }

  /** The job of the start, created now or by an earlier reconcile; undefined when the namespace is being deleted. */
  async #create(cronJob: CronJob, startMs: number): Promise<Job | undefined> {
    const { client, dialect, events } = this.#context;
    const { namespace = '' } = cronJob.metadata;
    const { metadata: { labels, annotations } = {}, spec } = cronJob.spec.jobTemplate;
    const name = jobName(cronJob, startMs);
    const metadata = {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [controllerReference(dialect, cronJobType, cronJob)],
    };
    try {
      const job = await client.resource(jobType).create({ metadata, spec: spec ?? { template: {} } });
      this.#loop.written.wrote(keyOf(cronJob), this.#jobs, job);
      events.record(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${name}`);
      return job;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (isAlreadyExists(error)) {
        const job = await this.#live(namespace, name);
        if (job !== undefined && controllerOf(job)?.uid === cronJob.metadata.uid) return job;
      }
      events.record(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${messageOf(error)}`);
      throw error;
    }
  }

  #reference({ metadata }: Job): ObjectReference {
    const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata;
    const apiVersion = this.#context.dialect.apiVersion(jobType.group, jobType.version);
    return { apiVersion, kind: jobType.kind, namespace, name, uid, resourceVersion };
  }

  async #delete(cronJob: CronJob, { name = '', uid = '' }: Pick<ObjectReference, 'name' | 'uid'>): Promise<void> {
    const { client, events } = this.#context;
    const { namespace = '' } = cronJob.metadata;
    try {
      await client
        .resource(jobType)
        .delete(name, { namespace, propagationPolicy: 'Background', preconditions: { uid } });
      events.record(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      if (!isNotFound(error)) {
        events.record(cronJob, 'Warning', 'FailedDelete', `Deleted job: ${messageOf(error)}`);
        throw error;
      }
    }
    this.#loop.written.deleted(keyOf(cronJob), this.#jobs, { metadata: { name, namespace, uid } });
  }

  /** Returns the cron job with the new status. Throws 409 when the cron job has changed. */
  async #writeStatus(cronJob: CronJob, status: CronJobStatus): Promise<CronJob> {
    if (semanticEqual(status, cronJob.status ?? {})) return cronJob;
    const written = await this.#context.client.resource(cronJobType).updateStatus({ ...cronJob, status });
    this.#loop.written.wrote(keyOf(cronJob), this.#cronJobs, written);
    return written;
  }
}

function createdMs({ metadata }: Job): number | undefined {
  return metadata.creationTimestamp === undefined ? undefined : parseTime(metadata.creationTimestamp);
}
