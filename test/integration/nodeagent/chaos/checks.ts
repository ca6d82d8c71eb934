/** What must be so when nothing has gone wrong for a while. */
import type { ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';
import { finalizer } from '#test/integration/nodeagent/chaos/pods.js';
import type { Truth } from '#test/integration/nodeagent/chaos/recorded-runs.js';

interface Checked {
  readonly pods: readonly Pod[];
  readonly runtime: SimulatedRuntime;
  readonly truth: Truth;
  /** Where sandboxes and containers have their pod's UID. */
  readonly uidLabel: string;
}

/** Everything that is wrong; empty when all is well. */
export async function problemsOf(checked: Checked): Promise<string[]> {
  const { pods } = checked;
  const found = pods.filter(isTerminating).map(({ metadata }) => `${metadata.uid} is Terminating`);
  return [...found, ...(await strangers(checked)), ...(await untrue(checked)), ...wrongEnds(checked)];
}

function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).every((each) => each !== finalizer);
}

/** What the runtime has and nobody wants: of pods that are gone, and more than one of what there is to be one of. */
async function strangers({ pods, runtime, uidLabel }: Checked): Promise<string[]> {
  const known = new Set(pods.map(({ metadata }) => metadata.uid));
  const found: string[] = [];
  const running = new Set<string>();
  for (const { id, labels, state, metadata } of await runtime.listPodSandbox()) {
    const uid = labels[uidLabel] ?? '';
    if (!known.has(uid)) found.push(`sandbox ${id} of ${uid}, which is gone`);
    if (state === 'SANDBOX_READY' && running.has(uid)) found.push(`${uid} has more than sandbox ${metadata.attempt}`);
    if (state === 'SANDBOX_READY') running.add(uid);
  }
  for (const { id, labels, state, metadata } of await runtime.listContainers()) {
    const uid = labels[uidLabel] ?? '';
    const key = `${uid}/${metadata.name}`;
    if (!known.has(uid)) found.push(`container ${id} of ${uid}, which is gone`);
    if (state === 'CONTAINER_RUNNING' && running.has(key)) found.push(`${key} runs twice`);
    if (state === 'CONTAINER_RUNNING') running.add(key);
  }
  return found;
}

/** Containers of which the API says another thing than the runtime. */
async function untrue({ pods, runtime }: Checked): Promise<string[]> {
  const states = new Map((await runtime.listContainers()).map(({ id, state }) => [`simulated://${id}`, state]));
  const found: string[] = [];
  for (const pod of pods) {
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
    for (const { name, state, containerID = '', restartCount } of [...containerStatuses, ...initContainerStatuses]) {
      const is = states.get(containerID);
      const says = state?.running ? 'CONTAINER_RUNNING' : state?.terminated ? 'CONTAINER_EXITED' : undefined;
      // What has ended may have been removed since.
      if (says !== undefined && says !== is && (is !== undefined || says === 'CONTAINER_RUNNING'))
        found.push(`${pod.metadata.uid} ${name}: says ${says} after ${restartCount} restarts, and is ${is}`);
    }
  }
  return found;
}

/** Containers that are not what they must have come to by now. */
function wrongEnds({ pods, truth }: Checked): string[] {
  return pods.flatMap((pod) => {
    const { metadata, spec, status } = pod;
    if (metadata.deletionTimestamp !== undefined) return [];
    const whose = `${metadata.uid} (${spec.restartPolicy})`;
    const statuses = status?.containerStatuses ?? [];
    if (status?.phase === 'Failed' && status.reason !== undefined) return [];
    return statuses.flatMap((each) => wrongEnd(each, pod, truth).map((what) => `${whose} ${each.name}: ${what}`));
  });
}

function wrongEnd({ name, state, restartCount }: ContainerStatus, { metadata, spec }: Pod, truth: Truth): string[] {
  const runs = truth.of(metadata.uid ?? '', name);
  const latest = runs.at(-1);
  if (latest === undefined) return [];
  const found: string[] = [];
  if (latest.attempt > restartCount) found.push(`has run ${latest.attempt}, says ${restartCount} restarts`);
  if (latest.exitCode === undefined && state?.running === undefined) found.push(`runs, says ${JSON.stringify(state)}`);
  const isForGood = spec.restartPolicy === 'Never' || (spec.restartPolicy === 'OnFailure' && latest.exitCode === 0);
  if (latest.exitCode !== undefined && isForGood && state?.terminated?.exitCode !== latest.exitCode)
    found.push(`ended with ${latest.exitCode}, says ${JSON.stringify(state)}`);
  return found;
}
