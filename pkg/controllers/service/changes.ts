/** Which changes of a service are the load balancer's business, and what 1.24 tells of them. Pure. */
import type { Service, ServicePort } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { wantsLoadBalancer } from '#cloud/provider/balanced.js';

export interface ServiceChange {
  /** Reason and message of the event; absent: none is told. */
  readonly event?: readonly [reason: string, message: string];
}

/** The first change that the load balancer must follow; undefined when there is none. */
export function changeOf(old: Service, service: Service): ServiceChange | undefined {
  const [wanted, wants] = [wantsLoadBalancer(old), wantsLoadBalancer(service)];
  if (!wanted && !wants) return undefined;
  const [before, now] = [old.spec, service.spec];
  if (wanted !== wants) return told('Type', before.type, now.type);
  const ranges = [before.loadBalancerSourceRanges ?? [], now.loadBalancerSourceRanges ?? []] as const;
  if (wants && !semanticEqual(...ranges)) {
    const [from, to] = ranges.map((range) => `[${range.join(' ')}]`);
    return told('LoadBalancerSourceRanges', from, to);
  }
  if (!semanticEqual(portsOf(old), portsOf(service))) return {};
  if (before.sessionAffinity !== now.sessionAffinity) return {};
  if (!semanticEqual(before.sessionAffinityConfig, now.sessionAffinityConfig)) return {};
  if ((before.loadBalancerIP ?? '') !== (now.loadBalancerIP ?? '')) {
    return told('LoadbalancerIP', before.loadBalancerIP, now.loadBalancerIP);
  }
  const [oldIPs, ips] = [before.externalIPs ?? [], now.externalIPs ?? []];
  if (oldIPs.length !== ips.length) return counted('ExternalIP', oldIPs, ips);
  const added = ips.find((ip, i) => ip !== oldIPs[i]);
  if (added !== undefined) return { event: ['ExternalIP', `Added: ${added}`] };
  if (!semanticEqual(old.metadata.annotations ?? {}, service.metadata.annotations ?? {})) return {};
  if (old.metadata.uid !== service.metadata.uid) return told('UID', old.metadata.uid, service.metadata.uid);
  for (const [reason, field] of policies) {
    if (before[field] !== now[field]) return told(reason, before[field], now[field]);
  }
  // Families are added and taken away, never exchanged.
  const [oldFamilies, families] = [before.ipFamilies ?? [], now.ipFamilies ?? []];
  return oldFamilies.length === families.length ? undefined : counted('IPFamilies', oldFamilies, families);
}

const policies = [
  ['ExternalTrafficPolicy', 'externalTrafficPolicy'],
  ['HealthCheckNodePort', 'healthCheckNodePort'],
] as const;

function told(reason: string, from: string | number | undefined, to: string | number | undefined): ServiceChange {
  return { event: [reason, `${from ?? ''} -> ${to ?? ''}`] };
}

function counted(reason: string, from: readonly string[], to: readonly string[]): ServiceChange {
  return { event: [reason, `Count: ${from.length} -> ${to.length}`] };
}

/** What of its ports a load balancer has to do with. */
function portsOf({ spec }: Service): ServicePort[] {
  return (spec.ports ?? []).map(({ appProtocol: _, ...port }) => port);
}
