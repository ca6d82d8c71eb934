import type { Pod } from '#api/core/v1/types.gen.js';
import { nonZeroRequests, podRequests, type Resources } from '#scheduler/framework/resources.js';

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A pod with what scheduling reads of it again and again, computed once. */
export interface PodInfo {
  readonly pod: Pod;
  readonly uid: string;
  /** `namespace/name`. */
  readonly key: string;
  readonly priority: number;
  readonly requests: Resources;
  readonly nonZero: { readonly milliCpu: number; readonly memory: number };
  readonly hostPorts: readonly HostPort[];
  /** UID of the controller that made the pod, empty without one: its pods are replicas of each other. */
  readonly controller: string;
}

export function podInfo(pod: Pod): PodInfo {
  return {
    pod,
    uid: pod.metadata.uid ?? '',
    key: podKey(pod),
    priority: pod.spec.priority ?? 0,
    requests: podRequests(pod),
    nonZero: nonZeroRequests(pod),
    hostPorts: hostPortsOf(pod),
    controller: pod.metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid ?? '',
  };
}

export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}`;
}

function hostPortsOf(pod: Pod): HostPort[] {
  const ports: HostPort[] = [];
  for (const container of pod.spec.containers ?? []) {
    for (const port of container.ports ?? []) {
      const hostPort = port.hostPort ?? 0;
      if (hostPort <= 0) continue;
      ports.push({ ip: port.hostIP ?? '0.0.0.0', protocol: port.protocol ?? 'TCP', port: hostPort });
    }
  }
  return ports;
}
