/** Builds the managers that give CPUs, memory and devices to containers. */
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { Allocations } from '#nodeagent/allocation/allocations.js';
import type { AllocationProvider } from '#nodeagent/allocation/provider.js';
import type { TopologyPolicy } from '#nodeagent/allocation/topology/alignment.js';
import { TopologyManager, type TopologyScope } from '#nodeagent/allocation/topology-manager.js';
import type { DeviceManager } from '#nodeagent/devices/device-manager.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { isRunning, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

export interface AllocationsInput {
  readonly machine: Machine;
  /** Absent if the node has no device plugins. */
  readonly devices?: DeviceManager | undefined;
  /** What the runtime has. */
  readonly runtimes: () => readonly PodRuntime[];
  /** All pods of the node, with their newest statuses. */
  readonly pods: () => readonly Pod[];
  /** All sources have reported their pods. */
  readonly sourcesReady: () => boolean;
}

export async function newAllocations(
  values: NodeAgentOptions,
  { machine, devices, runtimes, pods, sourcesReady }: AllocationsInput,
): Promise<Allocations> {
  // In 1.24's order: devices, CPUs, memory.
  const providers: AllocationProvider[] = devices === undefined ? [] : [devices];
  const runningPods = () => runtimes().flatMap((runtime) => (runtime.containers.some(isRunning) ? [runtime.uid] : []));
  const policy = values['topology-manager-policy'] as TopologyPolicy;
  const topology = new TopologyManager({
    policy,
    scope: values['topology-manager-scope'] as TopologyScope,
    nodes: policy === 'none' ? [] : (await machine.topology()).nodes.map(({ id }) => id),
  });
  return new Allocations({
    topology,
    providers,
    activePods: () => {
      const running = new Set(runningPods());
      return pods().filter((pod) => !isPodTerminal(pod) || running.has(pod.metadata.uid ?? ''));
    },
    runningPods,
    sourcesReady,
  });
}
