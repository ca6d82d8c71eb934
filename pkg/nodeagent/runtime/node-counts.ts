/** How much the runtime has of what, for the metrics. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { ContainerState } from '#nodeagent/cri/cri.js';
import type { NodeCounts } from '#nodeagent/metrics/agent-metrics.js';
import type { PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

const stateNames: Readonly<Record<ContainerState, string>> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

/** @param wanted The pods that the node is to run. */
export function nodeCounts(pods: readonly PodRuntime[], wanted: readonly Pod[]): NodeCounts {
  const containers: Record<string, number> = Object.fromEntries(Object.values(stateNames).map((name) => [name, 0]));
  let runningPods = 0;
  for (const { sandboxes, containers: ofPod } of pods) {
    if (sandboxes.some(({ state }) => state === 'SANDBOX_READY')) runningPods++;
    for (const { state } of ofPod) containers[stateNames[state]] = (containers[stateNames[state]] ?? 0) + 1;
  }
  const ephemeralContainers = wanted.reduce((sum, { spec }) => sum + (spec.ephemeralContainers?.length ?? 0), 0);
  return { runningPods, containers, ephemeralContainers };
}
