/** Gives CPUs, memory and devices to the pods of a node, one pod at a time, and frees them. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { value } from '#apimachinery/quantity.js';
import { AllocationError, type AllocationProvider, type ContainerAllocation } from '#nodeagent/allocation/provider.js';
import type { TopologyManager } from '#nodeagent/allocation/topology-manager.js';

export interface AllocationsOptions {
  readonly topology: TopologyManager;
  /** In the order in which they allocate. */
  readonly providers: readonly AllocationProvider[];
  /** Pods of the node that have not ended, or that still have running containers. */
  readonly activePods: () => readonly Pod[];
  /** UIDs of all pods of which the runtime has running containers. */
  readonly runningPods: () => readonly string[];
  /** All sources have reported their pods: what other pods hold is free. */
  readonly sourcesReady: () => boolean;
}

/** Why a pod is refused; reason and message of 1.24. */
export interface AllocationRefusal {
  readonly reason: string;
  readonly message: string;
}

/** Reason of 1.24. */
const unexpected = 'UnexpectedAdmissionError';

export class Allocations {
  readonly #options: AllocationsOptions;
  /** Results by pod UID. A pod is asked for once, and again after a restart of the agent. */
  readonly #results = new Map<string, Promise<AllocationRefusal | undefined>>();
  /** UIDs of pods that the node refuses: they hold nothing. */
  readonly #refused = new Set<string>();
  /** The end of the pod's turn before. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: AllocationsOptions) {
    this.#options = options;
  }

  /** Gives all containers of the pod what they request. Resolves to the reason if the node must refuse the pod. */
  admit(pod: Pod): Promise<AllocationRefusal | undefined> {
    const uid = pod.metadata.uid ?? '';
    const earlier = this.#results.get(uid);
    if (earlier !== undefined) return earlier;
    const result = this.#turn.then(() => this.#admit(pod));
    this.#turn = result;
    this.#results.set(uid, result);
    return result;
  }

  /** The node refuses the pod for another reason: what it was given is free. */
  withdraw(uid: string): void {
    this.#refused.add(uid);
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#results.delete(uid);
    this.#refused.delete(uid);
  }

  /** Frees what containers of ended pods hold. */
  retainActive(pending?: Pod): void {
    const { activePods, runningPods, sourcesReady, providers } = this.#options;
    if (providers.length === 0 || !sourcesReady()) return;
    const containers = new Map<string, ReadonlySet<string>>();
    for (const pod of pending === undefined ? activePods() : [...activePods(), pending]) {
      const { uid = '' } = pod.metadata;
      if (this.#refused.has(uid)) continue;
      containers.set(uid, new Set(containersOf(pod).map(({ name }) => name)));
    }
    // Pods that the sources have lost still occupy their resources while they end.
    const running = new Set(runningPods());
    const isActive = (uid: string, name: string) => containers.get(uid)?.has(name) ?? running.has(uid);
    for (const provider of providers) provider.retain(isActive);
  }

  /** `allocatable`, at least as much of each resource as is in use, if the pod has some of it. */
  sufficient(podUID: string, allocatable: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const used = this.#options.providers.flatMap((provider) => [...(provider.inUse?.(podUID) ?? [])]);
    const short = used.filter(([resource, amount]) => value(allocatable[resource] ?? '0') < amount);
    if (short.length === 0) return allocatable;
    return { ...allocatable, ...Object.fromEntries(short.map(([resource, amount]) => [resource, String(amount)])) };
  }

  /** What the container gets at its creation. Rejects if it must not be created. */
  async configure(pod: Pod, container: Container): Promise<ContainerAllocation> {
    const parts: ContainerAllocation[] = [];
    for (const provider of this.#options.providers) parts.push(await provider.configure(pod, container));
    return mergedAllocation(parts);
  }

  /** A created container is about to start. */
  starting(pod: Pod, container: Container, id: string): void {
    for (const provider of this.#options.providers) provider.starting?.(pod, container, id);
  }

  async #admit(pod: Pod): Promise<AllocationRefusal | undefined> {
    const { topology, providers } = this.#options;
    const { uid = '' } = pod.metadata;
    try {
      await topology.admit(pod, containersOf(pod), { providers, beforeEach: () => this.retainActive(pod) });
      return undefined;
    } catch (error) {
      this.#refused.add(uid);
      return refusalOf(error);
    }
  }
}

function refusalOf(error: unknown): AllocationRefusal {
  if (error instanceof AllocationError) return { reason: error.reason, message: error.message };
  return { reason: unexpected, message: `Allocate failed due to ${messageOf(error)}, which is unexpected` };
}

/** Containers in the order in which they are given resources. */
function containersOf({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function mergedAllocation(parts: readonly ContainerAllocation[]): ContainerAllocation {
  const cpus = parts.find((part) => part.cpus !== undefined)?.cpus;
  const memoryNodes = parts.find((part) => part.memoryNodes !== undefined)?.memoryNodes;
  return {
    ...(cpus === undefined ? {} : { cpus }),
    ...(memoryNodes === undefined ? {} : { memoryNodes }),
    devices: parts.flatMap(({ devices = [] }) => devices),
    mounts: parts.flatMap(({ mounts = [] }) => mounts),
    environment: new Map(parts.flatMap(({ environment = [] }) => [...environment])),
    annotations: Object.assign({}, ...parts.map(({ annotations }) => annotations)) as Record<string, string>,
  };
}
