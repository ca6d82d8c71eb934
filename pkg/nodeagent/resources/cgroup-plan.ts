/**
 * What the cgroups above the pods' own are limited to. Pure. Rules of release 1.24 (cm/node_container_manager_linux.go,
 * cm/qos_container_manager_linux.go).
 */
import { podQosClass, podRequests } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import type { CgroupLimits } from '#nodeagent/resources/cgroup-settings.js';
import { milliCPUToShares } from '#nodeagent/resources/container-resources.js';

/** What the machine has, in plain numbers. */
export interface Capacity {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Bytes by page size in bytes. */
  readonly hugePages: Readonly<Record<number, number>>;
  /** 0: not known. */
  readonly pids: number;
}

/** Quantities by resource name. */
type ResourceList = Readonly<Record<string, string>>;

/** What all pods together may use: the capacity without `reserved`. Thresholds of eviction do not count here. */
export function allocatableLimits(capacity: Capacity, reserved: readonly ResourceList[]): CgroupLimits {
  const kept = (name: string, number = value) =>
    reserved.reduce((sum, list) => sum + (list[name] === undefined ? 0 : number(list[name])), 0);
  const left = (amount: number, taken: number) => Math.max(0, amount - taken);
  return {
    cpuShares: milliCPUToShares(left(capacity.cpus * 1000, kept('cpu', milliValue))),
    memoryBytes: left(capacity.memoryBytes, kept('memory')),
    ...(capacity.pids === 0 ? {} : { pids: left(capacity.pids, kept('pid')) }),
    hugePages: capacity.hugePages,
  };
}

/** What processes may use for which `reserved` is kept. `memoryQoS`: they are also left as much memory. */
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
  /** Those that have not ended. */
  readonly pods: readonly Pod[];
  /** What pods ask for of memory is not taken from them; needs cgroups of version 2. */
  readonly memoryQoS: boolean;
  /** Of the memory that better classes ask for, how much the others cannot have; absent: nothing is kept for them. */
  readonly reserved?: { readonly percent: number; readonly allocatableBytes: number };
}

/** `all` is the cgroup of all pods, in which the guaranteed ones are. */
export interface QosLimits {
  readonly all: CgroupLimits;
  readonly burstable: CgroupLimits;
  readonly besteffort: CgroupLimits;
}

export function qosLimits({ pods, memoryQoS, reserved }: QosInput): QosLimits {
  const asked = { burstableMilliCPU: 0, guaranteedBytes: 0, burstableBytes: 0 };
  for (const pod of pods) {
    const qos = podQosClass(pod);
    if (qos === 'BestEffort') continue;
    const { cpu, memory } = podRequests(pod);
    const bytes = memory === undefined ? 0 : value(memory);
    if (qos === 'Guaranteed') asked.guaranteedBytes += bytes;
    else {
      asked.burstableBytes += bytes;
      asked.burstableMilliCPU += cpu === undefined ? 0 : milliValue(cpu);
    }
  }
  const { guaranteedBytes, burstableBytes } = asked;
  const min = (bytes: number) => (memoryQoS && bytes > 0 ? { memoryMinBytes: bytes } : {});
  const share = (bytes: number) => Math.floor((bytes * (reserved?.percent ?? 0)) / 100);
  const forBurstable = (reserved?.allocatableBytes ?? 0) - share(guaranteedBytes);
  const max = (bytes: number) => (reserved === undefined ? {} : { memoryBytes: Math.max(0, bytes) });
  return {
    all: min(guaranteedBytes + burstableBytes),
    burstable: {
      cpuShares: milliCPUToShares(asked.burstableMilliCPU),
      ...min(burstableBytes),
      ...max(forBurstable),
    },
    besteffort: { cpuShares: milliCPUToShares(0), ...max(forBurstable - share(burstableBytes)) },
  };
}
