/** When a finished job is to be deleted. Pure. */
import type { Job } from '#api/batch/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';

/**
 * The instant (ms) at which the job's time is over; undefined for a job that is to stay, is going already, or has not
 * finished. Throws when a finished job does not say since when.
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
