/** Messages about what the containers of pods hold (kubelet/apis/podresources of 1.24). Pure. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Message } from '#nodeagent/grpc/channel.js';

/** Devices of a resource, by ID, with their NUMA nodes; undefined: the plugin tells none. */
export type ResourceDevices = ReadonlyMap<string, ReadonlyMap<string, readonly number[] | undefined>>;

/** Memory on NUMA nodes. */
export interface MemoryBlock {
  /** `memory`, `hugepages-2Mi`. */
  readonly type: string;
  readonly bytes: number;
  readonly nodes: readonly number[];
}

/** What containers hold exclusively. */
export interface HeldResources {
  devices(podUID: string, container: string): ResourceDevices;
  cpus(podUID: string, container: string): readonly number[];
  memory(podUID: string, container: string): readonly MemoryBlock[];
}

/** What containers of the node could hold together. */
export interface AllocatableResources {
  devices(): ResourceDevices;
  cpus(): readonly number[];
  memory(): readonly MemoryBlock[];
}

/** A ListPodResourcesResponse. */
export function podResources(pods: readonly Pod[], held: HeldResources): Message {
  return {
    podResources: pods.map(({ metadata: { name, namespace, uid = '' }, spec }) => ({
      ...{ name, namespace },
      containers: spec.containers.map((container) => ({
        name: container.name,
        devices: deviceMessages(held.devices(uid, container.name)),
        cpuIds: [...held.cpus(uid, container.name)],
        memory: held.memory(uid, container.name).map(memoryMessage),
      })),
    })),
  };
}

/** An AllocatableResourcesResponse. */
export function allocatableResources(all: AllocatableResources): Message {
  return { devices: deviceMessages(all.devices()), cpuIds: [...all.cpus()], memory: all.memory().map(memoryMessage) };
}

/** One message for each device and node. */
function deviceMessages(resources: ResourceDevices): Message[] {
  return [...resources].flatMap(([resourceName, devices]) =>
    [...devices].flatMap(([id, nodes]): Message[] => {
      const device = { resourceName, deviceIds: [id] };
      return nodes === undefined ? [device] : nodes.map((node) => ({ ...device, topology: topology([node]) }));
    }),
  );
}

function memoryMessage({ type, bytes, nodes }: MemoryBlock): Message {
  return { memoryType: type, size: bytes, topology: topology(nodes) };
}

function topology(nodes: readonly number[]): Message {
  return { nodes: nodes.map((ID) => ({ ID })) };
}
