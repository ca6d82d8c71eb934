/** The runtime's state of one pod. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { ContainerState, ContainerStatus, PodSandboxStatus } from '#nodeagent/cri/cri.js';
import type { NodeCounts } from '#nodeagent/metrics/agent-metrics.js';

export interface RuntimeContainer extends ContainerStatus {
  readonly podSandboxId: string;
}

export interface PodRuntime {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first. */
  readonly sandboxes: readonly PodSandboxStatus[];
  /** Newest first. */
  readonly containers: readonly RuntimeContainer[];
}

/** The newest container of that name. */
export function newestContainer(runtime: PodRuntime, name: string): RuntimeContainer | undefined {
  return runtime.containers.find((container) => container.metadata.name === name);
}

/** All containers of that name, newest first. */
export function containersNamed(runtime: PodRuntime, name: string): RuntimeContainer[] {
  return runtime.containers.filter((container) => container.metadata.name === name);
}

export function isRunning(container: Pick<ContainerStatus, 'state'> | undefined): boolean {
  return container?.state === 'CONTAINER_RUNNING';
}

/** True if no container runs and no sandbox is ready. */
export function isStopped(runtime: PodRuntime): boolean {
  return (
    !runtime.containers.some((container) => isRunning(container)) &&
    !runtime.sandboxes.some((sandbox) => sandbox.state === 'SANDBOX_READY')
  );
}

/** The addresses of the pod's newest sandbox if it is ready. */
export function podIPs(runtime: PodRuntime): readonly string[] {
  const newest = runtime.sandboxes[0];
  return newest?.state === 'SANDBOX_READY' ? newest.ips : [];
}

/** The state of a pod that the runtime does not have. */
export function emptyRuntime({ metadata }: Pod): PodRuntime {
  const { uid = '', name = '', namespace = '' } = metadata;
  return { uid, name, namespace, sandboxes: [], containers: [] };
}

const stateNames: Readonly<Record<ContainerState, string>> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

/** Counts what the runtime has. `desired`: the pods of this node in the API. */
export function nodeCounts(pods: readonly PodRuntime[], desired: readonly Pod[]): NodeCounts {
  const containers: Record<string, number> = Object.fromEntries(Object.values(stateNames).map((name) => [name, 0]));
  let runningPods = 0;
  for (const { sandboxes, containers: ofPod } of pods) {
    if (sandboxes.some(({ state }) => state === 'SANDBOX_READY')) runningPods++;
    for (const { state } of ofPod) containers[stateNames[state]] = (containers[stateNames[state]] ?? 0) + 1;
  }
  const ephemeralContainers = desired.reduce((sum, { spec }) => sum + (spec.ephemeralContainers?.length ?? 0), 0);
  return { runningPods, containers, ephemeralContainers };
}
