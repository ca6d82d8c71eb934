/** The seam between pods and the managers that give CPUs, memory and devices to containers. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import type { Device, Mount } from '#nodeagent/cri/cri.js';

/** What a manager adds to a container's configuration. */
export interface ContainerAllocation {
  /** List of CPUs: `0-3,8`. */
  readonly cpus?: string;
  /** List of NUMA nodes for memory: `0,1`. */
  readonly memoryNodes?: string;
  readonly devices?: readonly Device[];
  /** Come before the mounts of the container's volumes. */
  readonly mounts?: readonly Mount[];
  /** The container's own variables override these. */
  readonly environment?: ReadonlyMap<string, string>;
  /** The agent's own annotations override these. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Whether a container may still use what it was given. */
export type IsActive = (podUID: string, container: string) => boolean;

/** Gives a kind of resource to containers. All methods but `configure` are called for one pod at a time. */
export interface AllocationProvider {
  /** Possible placements of a container. */
  hints(pod: Pod, container: Container): ResourceHints;
  /** Possible placements of all containers of a pod on the same nodes. */
  podHints(pod: Pod): ResourceHints;
  /**
   * Gives the container what it requests, on the nodes of the merged hint if possible. A container that has it already
   * keeps it. An AllocationError has its own reason; every other error is unexpected.
   */
  allocate(pod: Pod, container: Container, affinity: TopologyHint): Promise<void> | void;
  /** Frees what other containers have. Called before hints and allocations, once all sources of pods are complete. */
  retain(isActive: IsActive): void;
  /** Called before each creation of a container: the hook before its start. Rejects if the container must not be created. */
  configure(pod: Pod, container: Container): Promise<ContainerAllocation> | ContainerAllocation;
  /**
   * Amounts in use by resource if the pod has some of them: the node has that much even if it does not advertise it.
   */
  inUse?(podUID: string): ReadonlyMap<string, number>;
  /** The container with that ID is about to start with that configuration. */
  starting?(pod: Pod, container: Container, id: string): void;
}

/** A refusal with a reason of its own. */
export class AllocationError extends Error {
  override readonly name = 'AllocationError';
  /** Of the pod's status: `TopologyAffinityError`. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
