/** Invariants of a node after a while without faults. */
import type { ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';
import { finalizer } from '#test/integration/nodeagent/chaos/pods.js';
import type { RecordedRuns } from '#test/integration/nodeagent/chaos/recorded-runs.js';

interface Checked {
  readonly pods: readonly Pod[];
  readonly runtime: SimulatedRuntime;
  readonly recordedRuns: RecordedRuns;
  /** The label with the pod's UID on sandboxes and containers. */
  readonly uidLabel: string;
}

/** Returns all violations; empty on success. */
export async function problemsOf(checked: Checked): Promise<string[]> {
  const { pods } = checked;
  const problems = pods.filter(isTerminating).map(({ metadata }) => `${metadata.uid} is Terminating`);
  return [...problems, ...(await strayObjects(checked)), ...(await falseStatuses(checked)), ...wrongEnds(checked)];
}

function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).every((each) => each !== finalizer);
}

/** Returns sandboxes and containers of removed pods, and duplicates. */
async function strayObjects({ pods, runtime, uidLabel }: Checked): Promise<string[]> {
  const uids = new Set(pods.map(({ metadata }) => metadata.uid));
  const problems: string[] = [];
  const running = new Set<string>();
  for (const { id, labels, state, metadata } of await runtime.listPodSandbox()) {
    const uid = labels[uidLabel] ?? '';
    if (!uids.has(uid)) problems.push(`sandbox ${id} of ${uid}, which is gone`);
    if (state === 'SANDBOX_READY' && running.has(uid))
      problems.push(`${uid} has more than sandbox ${metadata.attempt}`);
    if (state === 'SANDBOX_READY') running.add(uid);
  }
  for (const { id, labels, state, metadata } of await runtime.listContainers()) {
    const uid = labels[uidLabel] ?? '';
    const key = `${uid}/${metadata.name}`;
    if (!uids.has(uid)) problems.push(`container ${id} of ${uid}, which is gone`);
    if (state === 'CONTAINER_RUNNING' && running.has(key)) problems.push(`${key} runs twice`);
    if (state === 'CONTAINER_RUNNING') running.add(key);
  }
  return problems;
}

/** Returns containers whose API status differs from the runtime's state. */
async function falseStatuses({ pods, runtime }: Checked): Promise<string[]> {
  const states = new Map((await runtime.listContainers()).map(({ id, state }) => [`simulated://${id}`, state]));
  const problems: string[] = [];
  for (const pod of pods) {
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
    for (const { name, state, containerID = '', restartCount } of [...containerStatuses, ...initContainerStatuses]) {
      const is = states.get(containerID);
      const reported = state?.running ? 'CONTAINER_RUNNING' : state?.terminated ? 'CONTAINER_EXITED' : undefined;
      // A terminated container may have been removed since.
      if (reported !== undefined && reported !== is && (is !== undefined || reported === 'CONTAINER_RUNNING'))
        problems.push(`${pod.metadata.uid} ${name}: says ${reported} after ${restartCount} restarts, and is ${is}`);
    }
  }
  return problems;
}

/** Returns containers that are not in their expected final state. */
function wrongEnds({ pods, recordedRuns }: Checked): string[] {
  return pods.flatMap((pod) => {
    const { metadata, spec, status } = pod;
    if (metadata.deletionTimestamp !== undefined) return [];
    const whose = `${metadata.uid} (${spec.restartPolicy})`;
    const statuses = status?.containerStatuses ?? [];
    if (status?.phase === 'Failed' && status.reason !== undefined) return [];
    return statuses.flatMap((each) =>
      wrongEnd(each, pod, recordedRuns).map((what) => `${whose} ${each.name}: ${what}`),
    );
  });
}

function wrongEnd(
  { name, state, restartCount }: ContainerStatus,
  { metadata, spec }: Pod,
  recordedRuns: RecordedRuns,
): string[] {
  const runs = recordedRuns.runsOf(metadata.uid ?? '', name);
  const latest = runs.at(-1);
  if (latest === undefined) return [];
  const problems: string[] = [];
  if (latest.attempt > restartCount) problems.push(`has run ${latest.attempt}, says ${restartCount} restarts`);
  if (latest.exitCode === undefined && state?.running === undefined)
    problems.push(`runs, says ${JSON.stringify(state)}`);
  const isForGood = spec.restartPolicy === 'Never' || (spec.restartPolicy === 'OnFailure' && latest.exitCode === 0);
  if (latest.exitCode !== undefined && isForGood && state?.terminated?.exitCode !== latest.exitCode)
    problems.push(`ended with ${latest.exitCode}, says ${JSON.stringify(state)}`);
  return problems;
}
