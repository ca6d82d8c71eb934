/** Which pods a service sends to, and at which ports. Pure; rules of release 1.24 (util/endpoint). */
import { isPodReady, isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { Node, Pod, Service, ServicePort } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { selectorFromLabels } from '#apimachinery/selectors/labels.js';

export type IPFamily = 'IPv4' | 'IPv6';

/** True when pods are chosen for the service here, and not by whoever writes its endpoints. */
export function selectsPods(service: Service): boolean {
  return service.spec.selector !== undefined && service.spec.type !== 'ExternalName';
}

export function isHeadless(service: Service): boolean {
  return service.spec.clusterIP === 'None';
}

/** The pods of the service's namespace that it selects. */
export function selectedPods(service: Service, pods: readonly Pod[]): Pod[] {
  const selector = selectorFromLabels(service.spec.selector);
  return pods.filter((pod) => selector.matches(pod.metadata.labels));
}

/** True when the pod has an address and has not ended; pods being deleted count only where they are asked for. */
export function isMember(pod: Pod, includeTerminating: boolean): boolean {
  if (isPodTerminal(pod) || addressesOf(pod).length === 0) return false;
  return includeTerminating || pod.metadata.deletionTimestamp === undefined;
}

export function addressesOf(pod: Pod): string[] {
  const all = (pod.status?.podIPs ?? []).map(({ ip }) => ip ?? '').filter((ip) => ip !== '');
  const first = pod.status?.podIP ?? '';
  return all.length === 0 && first !== '' ? [first] : all;
}

export function familyOf(ip: string): IPFamily {
  return ip.includes(':') ? 'IPv6' : 'IPv4';
}

/** The families that the service has addresses in. */
export function familiesOf(service: Service): IPFamily[] {
  const families = (service.spec.ipFamilies ?? []).filter(
    (each): each is IPFamily => each === 'IPv4' || each === 'IPv6',
  );
  if (families.length > 0) return families;
  const clusterIP = service.spec.clusterIP ?? '';
  return [clusterIP === '' || clusterIP === 'None' ? 'IPv4' : familyOf(clusterIP)];
}

export interface ResolvedPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

/** The service's ports as the pod has them; those that the pod does not have are left out. */
export function portsOf(service: Service, pod: Pod): ResolvedPort[] {
  return (service.spec.ports ?? []).flatMap((port) => {
    const number = targetPort(pod, port);
    if (number === undefined) return [];
    return [
      {
        name: port.name ?? '',
        port: number,
        protocol: port.protocol ?? 'TCP',
        ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }),
      },
    ];
  });
}

function targetPort(pod: Pod, { targetPort: target, port, protocol = 'TCP' }: ServicePort): number | undefined {
  if (target === undefined || target === 0 || target === '') return port;
  if (typeof target === 'number') return target;
  for (const container of pod.spec.containers) {
    const found = container.ports?.find((each) => each.name === target && (each.protocol ?? 'TCP') === protocol);
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}

/** The name under which the service's DNS knows the pod alone. */
export function hostnameOf(service: Service, pod: Pod): string | undefined {
  const { hostname, subdomain } = pod.spec;
  const known = hostname !== undefined && hostname !== '' && subdomain === service.metadata.name;
  return known ? hostname : undefined;
}

/** True when the change may matter to a service that selects the pod. */
export function changesEndpoints(pod: Pod, old: Pod): boolean {
  const facts = (each: Pod) => [
    each.metadata.labels ?? {},
    each.metadata.deletionTimestamp,
    each.spec.nodeName,
    each.spec.hostname,
    each.spec.subdomain,
    addressesOf(each),
    isPodReady(each),
    isPodTerminal(each),
  ];
  return pod.metadata.uid !== old.metadata.uid || !semanticEqual(facts(pod), facts(old));
}

/** Looks up nodes by name. */
export type NodeOf = (name: string) => Node | undefined;
