/** Builds the managers that give CPUs, memory and devices to containers. */
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { Allocations } from '#nodeagent/allocation/allocations.js';
import type { CPUManager } from '#nodeagent/allocation/cpus/cpu-manager.js';
import type { MemoryManager } from '#nodeagent/allocation/memory/memory-manager.js';
import type { AllocationProvider } from '#nodeagent/allocation/provider.js';
import type { TopologyPolicy } from '#nodeagent/allocation/topology/alignment.js';
import { TopologyManager, type TopologyScope } from '#nodeagent/allocation/topology-manager.js';
import { type ManagersInput, newCPUManager, newMemoryManager } from '#nodeagent/compose-managers.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { DeviceManager } from '#nodeagent/devices/device-manager.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { isRunning, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

export interface AllocationsInput extends Pick<ManagersInput, 'machine' | 'labels'> {
  /** Absent if the node has no device plugins. */
  readonly devices?: DeviceManager | undefined;
  /** What the runtime has. */
  readonly runtimes: () => readonly PodRuntime[];
  /** All pods of the node, with their newest statuses. */
  readonly pods: () => readonly Pod[];
  /** All sources have reported their pods. */
  readonly sourcesReady: () => boolean;
}

export interface AllocationParts {
  readonly allocations: Allocations;
  /** Absent unless CPUs are assigned. */
  readonly cpus?: CPUManager;
  /** Absent unless memory is assigned. */
  readonly memory?: MemoryManager;
}

/** Reads the managers' checkpoints. Throws OptionsError if one of them does not fit the machine and the options. */
export async function newAllocations(
  values: NodeAgentOptions,
  deps: NodeAgentDependencies,
  { machine, labels, devices, runtimes, pods, sourcesReady }: AllocationsInput,
): Promise<AllocationParts> {
  const runningPods = () => runtimes().flatMap((runtime) => (runtime.containers.some(isRunning) ? [runtime.uid] : []));
  const activePods = () => {
    const running = new Set(runningPods());
    return pods().filter((pod) => !isPodTerminal(pod) || running.has(pod.metadata.uid ?? ''));
  };
  const runtime = (uid: string) => runtimes().find((each) => each.uid === uid);
  const managers: ManagersInput = { machine, labels, activePods, runtime };
  const topology = await newTopologyManager(values, managers);
  const shared = { ...deps, dialect: deps.informers.client.dialect };
  const cpus = await newCPUManager(values, shared, managers);
  const memory = await newMemoryManager(values, shared, managers);
  // In 1.24's order: devices, CPUs, memory.
  const providers: AllocationProvider[] = [devices, cpus, memory].filter((provider) => provider !== undefined);
  return {
    allocations: new Allocations({ topology, providers, activePods, runningPods, sourcesReady }),
    ...(cpus && { cpus }),
    ...(memory && { memory }),
  };
}

/** Without the gate, resources are not aligned. */
async function newTopologyManager(
  values: NodeAgentOptions,
  { machine }: Pick<ManagersInput, 'machine'>,
): Promise<TopologyManager> {
  const isOn = new FeatureGates(values['feature-gates']).enabled('TopologyManager');
  const policy = isOn ? (values['topology-manager-policy'] as TopologyPolicy) : 'none';
  return new TopologyManager({
    policy,
    scope: values['topology-manager-scope'] as TopologyScope,
    nodes: policy === 'none' ? [] : (await machine.topology()).nodes.map(({ id }) => id),
  });
}
