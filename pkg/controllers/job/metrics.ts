/** The job controller's metrics, with the names of 1.24. */
import type { Job, JobStatus } from '#api/batch/v1/types.gen.js';
import type { ControllerMetrics } from '#controllers/framework/metrics.js';
import { isIndexed } from '#controllers/job/indexes.js';
import { exponentialBuckets } from '#daemon/metrics/metric.js';

/** What a reconcile did with the job's pods. */
export type SyncAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted';

const syncDuration = {
  name: 'job_controller_job_sync_duration_seconds',
  help: '[ALPHA] The time it took to sync a job',
  buckets: exponentialBuckets(0.001, 2, 15),
};

const finishedTotal = 'job_controller_job_finished_total';
const finishedHelp = '[ALPHA] The number of finished job';

export class JobMetrics {
  readonly #metrics: ControllerMetrics;

  constructor(metrics: ControllerMetrics) {
    this.#metrics = metrics;
    // Create counters at zero, so that rates include the first increase.
    for (const completion_mode of ['NonIndexed', 'Indexed'])
      for (const result of ['succeeded', 'failed'])
        metrics.count(finishedTotal, finishedHelp, { completion_mode, result }, 0);
  }

  synced(job: Job, result: { readonly action: SyncAction; readonly failed: boolean; readonly ms: number }): void {
    const labels = { completion_mode: modeOf(job), result: result.failed ? 'error' : 'success', action: result.action };
    this.#metrics.observe(syncDuration, result.ms / 1000, labels);
    this.#metrics.count('job_controller_job_sync_total', '[ALPHA] The number of job syncs', labels);
  }

  finished(job: Job, result: 'succeeded' | 'failed'): void {
    const labels = { completion_mode: modeOf(job), result };
    this.#metrics.count(finishedTotal, finishedHelp, labels);
  }

  /** Adds the increase of the status counters. */
  podsFinished(job: Job, before: JobStatus | undefined, after: JobStatus): void {
    for (const result of ['succeeded', 'failed'] as const) {
      const more = (after[result] ?? 0) - (before?.[result] ?? 0);
      if (more <= 0) continue;
      const labels = { completion_mode: modeOf(job), result };
      const help = '[ALPHA] The number of finished Pods that are fully tracked';
      this.#metrics.count('job_controller_job_pods_finished_total', help, labels, more);
    }
  }
}

function modeOf(job: Job): string {
  return isIndexed(job) ? 'Indexed' : 'NonIndexed';
}
