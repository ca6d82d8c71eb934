/** Converts requests and limits to kernel settings. Numbers of release 1.24 (cm/helpers_linux.go, qos/policy.go). */

import { podPriority } from '#api/core/v1/pod/conditions.js';
import { podLimits, podQosClass, podRequests } from '#api/core/v1/pod/resources.js';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import type { HugepageLimit, LinuxContainerResources } from '#nodeagent/cri/cri.js';
import { type CgroupLimits, pageSizeName } from '#nodeagent/resources/cgroup-settings.js';

const minShares = 2;
const maxShares = 262_144;
const sharesPerCPU = 1024;
/** The kernel's smallest quota. */
const minQuotaMicros = 1000;
const systemCriticalPriority = 2_000_000_000;

export function milliCPUToShares(milliCPU: number): number {
  if (milliCPU <= 0) return minShares;
  return Math.min(maxShares, Math.max(minShares, Math.floor((milliCPU * sharesPerCPU) / 1000)));
}

/** Microseconds per period; 0 without a limit. */
export function milliCPUToQuota(milliCPU: number, periodMicros: number): number {
  if (milliCPU <= 0) return 0;
  return Math.max(minQuotaMicros, Math.floor((milliCPU * periodMicros) / 1000));
}

/** Burstable containers with larger memory requests are killed later. */
function oomScoreAdj(pod: Pod, container: Container, memoryCapacityBytes: number): number {
  if (podPriority(pod) >= systemCriticalPriority) return -997;
  switch (podQosClass(pod)) {
    case 'Guaranteed':
      return -997;
    case 'BestEffort':
      return 1000;
    default: {
      const request = value(container.resources?.requests?.['memory'] ?? '0');
      const score = 1000 - Math.floor((1000 * request) / memoryCapacityBytes);
      if (score < 1000 + -997) return 1000 + -997;
      return score === 1000 ? 999 : score;
    }
  }
}

export interface CPUQuota {
  readonly enforced: boolean;
  readonly periodMicros: number;
}

/** Properties of the node that affect its containers' resources. */
export interface NodeResourceFacts {
  readonly memoryCapacityBytes: number;
  readonly memoryAllocatableBytes: number;
  readonly quota: CPUQuota;
  /** The machine's huge page sizes, in bytes. */
  readonly pageSizes: readonly number[];
  /** Protects requested memory and throttles containers before their limit; cgroup version 2 only. */
  readonly memoryQoS: boolean;
  /** Fraction of a memory limit at which throttling begins. */
  readonly memoryThrottlingFactor: number;
  /** Swap behaviour of containers; absent: not set. */
  readonly swap?: 'LimitedSwap' | 'UnlimitedSwap';
}

const hugePages = 'hugepages-';

/** Bytes by page size in bytes, of a list of requests or limits. */
function hugePageBytes(list: Readonly<Record<string, string>>): Record<number, number> {
  const bytesBySize: Record<number, number> = {};
  for (const [name, quantity] of Object.entries(list)) {
    if (name.startsWith(hugePages)) bytesBySize[value(name.slice(hugePages.length))] = value(quantity);
  }
  return bytesBySize;
}

/** Limits for every page size of the machine; 0 for sizes without a request. */
function hugepageLimits(limits: Readonly<Record<string, string>>, pageSizes: readonly number[]): HugepageLimit[] {
  const requested = hugePageBytes(limits);
  return pageSizes.map((size) => ({ pageSize: pageSizeName(size), limit: requested[size] ?? 0 }));
}

/** `memory.min` and `memory.high` of a container. */
function memoryQoS(
  { request, limit }: { readonly request: number; readonly limit: number },
  { memoryAllocatableBytes, memoryThrottlingFactor }: NodeResourceFacts,
): Record<string, string> {
  const high = Math.floor((limit === 0 ? memoryAllocatableBytes : limit) * memoryThrottlingFactor);
  return {
    ...(request === 0 ? {} : { 'memory.min': String(request) }),
    ...(high > request ? { 'memory.high': String(high) } : {}),
  };
}

/** CPU shares, CPU quota and memory limit in the runtime's format. The limit is the default of the request. */
function basicResources(
  amounts: { readonly cpuRequest: string | undefined; readonly cpuLimit: string; readonly memoryLimit: string },
  { enforced, periodMicros }: CPUQuota,
): LinuxContainerResources {
  const cpuLimit = milliValue(amounts.cpuLimit);
  const resources: LinuxContainerResources = {
    cpuShares: milliCPUToShares(amounts.cpuRequest === undefined ? cpuLimit : milliValue(amounts.cpuRequest)),
  };
  const memory = value(amounts.memoryLimit);
  if (memory > 0) resources.memoryLimitInBytes = memory;
  if (enforced) {
    resources.cpuPeriod = periodMicros;
    resources.cpuQuota = milliCPUToQuota(cpuLimit, periodMicros);
  }
  return resources;
}

export function containerResources(pod: Pod, container: Container, node: NodeResourceFacts): LinuxContainerResources {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const { cpu: cpuLimit = '0', memory: memoryLimit = '0' } = limits;
  const resources: LinuxContainerResources = {
    ...basicResources({ cpuRequest: requests['cpu'], cpuLimit, memoryLimit }, node.quota),
    oomScoreAdj: oomScoreAdj(pod, container, node.memoryCapacityBytes),
  };
  const swap = node.swap === 'UnlimitedSwap' ? -1 : node.swap && resources.memoryLimitInBytes;
  if (swap !== undefined) resources.memorySwapLimitInBytes = swap;
  if (node.pageSizes.length > 0) resources.hugepageLimits = hugepageLimits(limits, node.pageSizes);
  if (node.memoryQoS) {
    const request = value(requests['memory'] ?? '0');
    const unified = memoryQoS({ request, limit: value(memoryLimit) }, node);
    if (Object.keys(unified).length > 0) resources.unified = unified;
  }
  return resources;
}

/** Total resources of a pod's containers, and its sandbox's overhead. Some runtimes size a virtual machine by them. */
export function sandboxResources(
  { spec }: Pod,
  quota: CPUQuota,
): { readonly resources: LinuxContainerResources; readonly overhead: LinuxContainerResources } {
  const { overhead = {}, ...rest } = spec;
  const [requests, limits] = [podRequests({ spec: rest }), podLimits({ spec: rest })];
  const { cpu: cpuLimit = '0', memory: memoryLimit = '0' } = limits;
  const { cpu = '0', memory = '0' } = overhead;
  return {
    resources: basicResources({ cpuRequest: requests['cpu'], cpuLimit, memoryLimit }, quota),
    overhead:
      Object.keys(overhead).length === 0
        ? {}
        : basicResources({ cpuRequest: cpu, cpuLimit: cpu, memoryLimit: memory }, quota),
  };
}

/** Sums over the containers that run together; init containers run alone, so their maximum counts. */
function podHugePages({ spec }: Pod): Record<number, number> {
  const total: Record<number, number> = {};
  const pageSizes = (container: Container) => Object.entries(hugePageBytes(container.resources?.requests ?? {}));
  for (const container of spec.containers) {
    for (const [size, bytes] of pageSizes(container)) total[Number(size)] = (total[Number(size)] ?? 0) + bytes;
  }
  for (const container of spec.initContainers ?? []) {
    for (const [size, bytes] of pageSizes(container)) total[Number(size)] = Math.max(total[Number(size)] ?? 0, bytes);
  }
  return total;
}

/** Limits of the pod's own cgroup. CPU and memory are limited only if every container is. */
export function podCgroupLimits(
  pod: Pod,
  { quota, memoryQoS }: { readonly quota: CPUQuota; readonly memoryQoS: boolean },
): CgroupLimits {
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const limited = (resource: string) =>
    all.every((container) => value(container.resources?.limits?.[resource] ?? '0') > 0);
  const cpuRequest = requests['cpu'] ?? limits['cpu'] ?? '0';
  const { enforced, periodMicros } = quota;
  const memoryRequest = value(requests['memory'] ?? '0');
  return {
    cpuShares: milliCPUToShares(milliValue(cpuRequest)),
    ...(limited('cpu') && {
      cpuQuota: {
        quotaMicros: enforced ? milliCPUToQuota(milliValue(limits['cpu'] ?? '0'), periodMicros) : -1,
        periodMicros,
      },
    }),
    ...(limited('memory') && { memoryBytes: value(limits['memory'] ?? '0') }),
    ...(memoryQoS && memoryRequest > 0 && { memoryMinBytes: memoryRequest }),
    hugePages: podHugePages(pod),
  };
}
