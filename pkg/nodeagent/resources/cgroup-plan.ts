/**
 * Limits of the cgroups above the pods' own. Pure. Rules of release 1.24 (cm/node_container_manager_linux.go,
 * cm/qos_container_manager_linux.go).
 */
import { podQosClass, podRequests } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import type { CgroupLimits } from '#nodeagent/resources/cgroup-settings.js';
import { milliCPUToShares } from '#nodeagent/resources/container-resources.js';

/** The machine's capacity in plain numbers. */
export interface Capacity {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Bytes by page size in bytes. */
  readonly hugePages: Readonly<Record<number, number>>;
  /** 0: unknown. */
  readonly pids: number;
}

/** Quantities by resource name. */
type ResourceList = Readonly<Record<string, string>>;

/** Limits of all pods together: the capacity minus `reserved`. Eviction thresholds do not count. */
export function allocatableLimits(capacity: Capacity, reserved: readonly ResourceList[]): CgroupLimits {
  const reservedAmount = (name: string, number = value) =>
    reserved.reduce((sum, list) => sum + (list[name] === undefined ? 0 : number(list[name])), 0);
  const remaining = (amount: number, used: number) => Math.max(0, amount - used);
  return {
    cpuShares: milliCPUToShares(remaining(capacity.cpus * 1000, reservedAmount('cpu', milliValue))),
    memoryBytes: remaining(capacity.memoryBytes, reservedAmount('memory')),
    ...(capacity.pids === 0 ? {} : { pids: remaining(capacity.pids, reservedAmount('pid')) }),
    hugePages: capacity.hugePages,
  };
}

/** Limits of system processes with reserved resources. `memoryQoS` also protects that memory. */
export function reservedLimits(reserved: ResourceList, { memoryQoS }: { readonly memoryQoS: boolean }): CgroupLimits {
  const { cpu, memory, pid } = reserved;
  const bytes = memory === undefined ? 0 : value(memory);
  return {
    ...(cpu === undefined ? {} : { cpuShares: milliCPUToShares(milliValue(cpu)) }),
    ...(memory === undefined ? {} : { memoryBytes: bytes }),
    ...(memoryQoS && bytes > 0 ? { memoryMinBytes: bytes } : {}),
    ...(pid === undefined ? {} : { pids: value(pid) }),
  };
}

export interface QosInput {
  /** Pods that have not ended. */
  readonly pods: readonly Pod[];
  /** Protects requested memory from reclaim; needs cgroup version 2. */
  readonly memoryQoS: boolean;
  /** Percentage of better classes' memory requests that is withheld from lower classes; absent: none. */
  readonly reserved?: { readonly percent: number; readonly allocatableBytes: number };
}

/** `all` is the cgroup of all pods; guaranteed pods are directly in it. */
export interface QosLimits {
  readonly all: CgroupLimits;
  readonly burstable: CgroupLimits;
  readonly besteffort: CgroupLimits;
}

export function qosLimits({ pods, memoryQoS, reserved }: QosInput): QosLimits {
  const requested = { burstableMilliCPU: 0, guaranteedBytes: 0, burstableBytes: 0 };
  for (const pod of pods) {
    const qos = podQosClass(pod);
    if (qos === 'BestEffort') continue;
    const { cpu, memory } = podRequests(pod);
    const bytes = memory === undefined ? 0 : value(memory);
    if (qos === 'Guaranteed') requested.guaranteedBytes += bytes;
    else {
      requested.burstableBytes += bytes;
      requested.burstableMilliCPU += cpu === undefined ? 0 : milliValue(cpu);
    }
  }
  const { guaranteedBytes, burstableBytes } = requested;
  const min = (bytes: number) => (memoryQoS && bytes > 0 ? { memoryMinBytes: bytes } : {});
  const share = (bytes: number) => Math.floor((bytes * (reserved?.percent ?? 0)) / 100);
  const forBurstable = (reserved?.allocatableBytes ?? 0) - share(guaranteedBytes);
  const max = (bytes: number) => (reserved === undefined ? {} : { memoryBytes: Math.max(0, bytes) });
  return {
    all: min(guaranteedBytes + burstableBytes),
    burstable: {
      cpuShares: milliCPUToShares(requested.burstableMilliCPU),
      ...min(burstableBytes),
      ...max(forBurstable),
    },
    besteffort: { cpuShares: milliCPUToShares(0), ...max(forBurstable - share(burstableBytes)) },
  };
}
