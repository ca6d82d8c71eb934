import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { type PodTerms, podTerms } from '#scheduler/cluster/affinity-term.js';
import { nonZeroRequests, podRequests, type Resources } from '#scheduler/cluster/resources.js';

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A pod with the values that scheduling reads often, computed once. */
export interface PodInfo {
  readonly pod: Pod;
  readonly uid: string;
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Equal for pods that all selectors treat alike. */
  readonly labelKey: string;
  readonly priority: number;
  readonly requests: Resources;
  readonly nonZero: { readonly milliCpu: number; readonly memory: number };
  readonly hostPorts: readonly HostPort[];
  readonly terms: PodTerms;
}

const noLabels = {};

export function podInfo(pod: Pod): PodInfo {
  return {
    pod,
    uid: pod.metadata.uid ?? '',
    key: podKey(pod),
    namespace: pod.metadata.namespace ?? '',
    labels: pod.metadata.labels ?? noLabels,
    labelKey: JSON.stringify([
      pod.metadata.namespace,
      pod.metadata.deletionTimestamp !== undefined,
      pod.metadata.labels,
    ]),
    priority: pod.spec.priority ?? 0,
    requests: podRequests(pod),
    nonZero: nonZeroRequests(pod),
    hostPorts: hostPortsOf(pod),
    terms: podTerms(pod),
  };
}

export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}`;
}

/**
 * Keys that are equal for pods that every plugin treats alike on the same cluster, apart from priority and age. `spec` is
 * equal for pods that local plugins treat alike.
 */
export function schedulingKeys({ pod }: PodInfo): { readonly spec: string; readonly pod: string } {
  const { metadata, spec } = pod;
  const owner = metadata.ownerReferences?.find((each) => each.controller === true);
  const keyOfSpec = JSON.stringify([
    // Claims belong to a namespace, ephemeral ones to a pod.
    spec.volumes === undefined ? undefined : [metadata.namespace, ...claimNamesOf(pod)],
    spec.nodeName,
    spec.nodeSelector,
    spec.affinity,
    spec.tolerations,
    spec.topologySpreadConstraints,
    spec.overhead,
    spec.volumes,
    (spec.initContainers ?? []).map(({ image, resources }) => [image, resources?.requests]),
    (spec.containers ?? []).map(({ image, ports, resources }) => [image, ports, resources?.requests]),
  ]);
  const rest = JSON.stringify([metadata.namespace, metadata.labels, owner?.kind, owner?.name]);
  return { spec: keyOfSpec, pod: `${rest}${keyOfSpec}` };
}

function hostPortsOf(pod: Pod): HostPort[] {
  const ports: HostPort[] = [];
  for (const container of pod.spec.containers ?? []) {
    for (const port of container.ports ?? []) {
      const hostPort = port.hostPort ?? 0;
      if (hostPort <= 0) continue;
      // Empty fields mean the same as absent ones.
      ports.push({ ip: port.hostIP || '0.0.0.0', protocol: port.protocol || 'TCP', port: hostPort });
    }
  }
  return ports;
}
