/** From requests and limits to what the kernel is told. Numbers as of release 1.24 (cm/helpers_linux.go, qos/policy.go). */

import { podPriority } from '#api/core/v1/pod/conditions.js';
import { podLimits, podQosClass, podRequests } from '#api/core/v1/pod/resources.js';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import type { LinuxContainerResources } from '#nodeagent/cri/cri.js';

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

/** The more memory a burstable container asked for, the later it is killed. */
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

export function containerResources(
  pod: Pod,
  container: Container,
  node: { memoryCapacityBytes: number; quota: CPUQuota },
): LinuxContainerResources {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const cpuLimit = milliValue(limits['cpu'] ?? '0');
  const cpuRequest = requests['cpu'] === undefined ? cpuLimit : milliValue(requests['cpu']);
  const resources: LinuxContainerResources = {
    cpuShares: milliCPUToShares(cpuRequest),
    oomScoreAdj: oomScoreAdj(pod, container, node.memoryCapacityBytes),
  };
  const memory = value(limits['memory'] ?? '0');
  if (memory > 0) resources.memoryLimitInBytes = memory;
  if (node.quota.enforced) {
    resources.cpuPeriod = node.quota.periodMicros;
    resources.cpuQuota = milliCPUToQuota(cpuLimit, node.quota.periodMicros);
  }
  return resources;
}

export interface PodCgroupLimits {
  readonly cpuShares: number;
  /** Set only when every container has a limit. */
  readonly cpuQuota?: number;
  readonly memoryLimitInBytes?: number;
}

/** What the pod's own cgroup is set to. */
export function podCgroupLimits(pod: Pod, quota: CPUQuota): PodCgroupLimits {
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const limited = (resource: string) =>
    all.every((container) => value(container.resources?.limits?.[resource] ?? '0') > 0);
  const cpuRequest = requests['cpu'] ?? limits['cpu'] ?? '0';
  const result: { cpuShares: number; cpuQuota?: number; memoryLimitInBytes?: number } = {
    cpuShares: milliCPUToShares(milliValue(cpuRequest)),
  };
  if (quota.enforced && limited('cpu')) {
    result.cpuQuota = milliCPUToQuota(milliValue(limits['cpu'] ?? '0'), quota.periodMicros);
  }
  if (limited('memory')) result.memoryLimitInBytes = value(limits['memory'] ?? '0');
  return result;
}
