/** The end of `--runonce`: the static pods run, or never will. */
import type { Pod, PodStatus } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { fullName, type StaticPods } from '#nodeagent/sources/static-pods.js';
import type { StatusManager } from '#nodeagent/status/manager.js';

export interface RunOnceInput {
  readonly statics: Pick<StaticPods, 'list' | 'hasSynced'>;
  readonly statuses: Pick<StatusManager, 'get'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const lookMs = 200;
/** As long as 1.24 tries: ten times, after 1 s, 2 s, 4 s, … */
const giveUpMs = 1023_000;

/** Resolves when every container of every static pod runs, or `signal` aborts. Rejects when one of them cannot. */
export async function untilTheyRun({ statics, statuses, clock, signal }: RunOnceInput): Promise<void> {
  const end = clock.monotonic() + giveUpMs;
  while (!signal.aborted) {
    const states = statics.list().map((pod) => ({ pod, state: stateOf(pod, statuses.get(pod.metadata.uid ?? '')) }));
    const failed = states.filter(({ state }) => state === 'failed').map(({ pod }) => fullName(pod));
    const waiting = states.filter(({ state }) => state === 'waiting').map(({ pod }) => fullName(pod));
    if (statics.hasSynced && waiting.length === 0) {
      if (failed.length > 0) throw new Error(`error running pods: [${failed.join(' ')}]`);
      return;
    }
    if (clock.monotonic() >= end) throw new Error(`error running pods: [${[...failed, ...waiting].join(' ')}]`);
    await clock.sleep(lookMs, signal);
  }
}

function stateOf({ spec }: Pod, status: PodStatus | undefined): 'failed' | 'running' | 'waiting' {
  if (status?.phase === 'Failed') return 'failed';
  if (status?.phase === 'Succeeded') return 'running';
  const running = (status?.containerStatuses ?? []).filter(({ state }) => state?.running !== undefined);
  return running.length === spec.containers.length ? 'running' : 'waiting';
}
