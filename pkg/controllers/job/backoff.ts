/** How long a job waits before it makes a pod in the place of one that failed. Pure, and read off the pods alone. */
import { getPodCondition } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { parseTime } from '#apimachinery/clock.js';

const initialMs = 10_000;
const maxMs = 360_000;

/**
 * The instant (ms) before which no pod is made; 0 when there is nothing to wait for. 10 seconds after the first
 * failure, doubled with each further one up to 6 minutes; a success ends the row of failures.
 */
export function backoffUntil(pods: readonly Pod[], now: number): number {
  let lastSuccessMs = 0;
  const failures: number[] = [];
  for (const pod of pods) {
    const phase = pod.status?.phase;
    if (phase === 'Succeeded') lastSuccessMs = Math.max(lastSuccessMs, finishedMs(pod));
    // A pod that somebody deletes did not fail by itself.
    else if (phase === 'Failed' && pod.metadata.deletionTimestamp === undefined) failures.push(finishedMs(pod));
  }
  const row = failures.filter((ms) => ms > lastSuccessMs);
  if (row.length === 0) return 0;
  // A failure that is still to come: some clock was set. It counts as one of now.
  const last = Math.min(Math.max(...row), now);
  const until = last + exponentialDelayMs(row.length - 1, initialMs, maxMs);
  return until > now ? until : 0;
}

/** When the pod ended, as well as can be told (ms); 0 when nothing tells. */
function finishedMs(pod: Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated?.finishedAt ?? []);
  if (ends.length > 0) return Math.max(...ends.map(milliseconds));
  const ready = getPodCondition(pod.status, 'Ready');
  const unready = ready?.status === 'False' ? ready.lastTransitionTime : undefined;
  return milliseconds(unready ?? pod.metadata.creationTimestamp);
}

function milliseconds(time: string | undefined): number {
  const ms = time === undefined ? Number.NaN : parseTime(time);
  return Number.isNaN(ms) ? 0 : ms;
}
