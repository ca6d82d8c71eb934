/** The pods, addresses and ports that are endpoints of a service. Rules of release 1.24 (util/endpoint). Pure. */
import { isPodReady, isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { Node, Pod, Service, ServicePort } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { selectorFromLabels } from '#apimachinery/selectors/labels.js';

export type IPFamily = 'IPv4' | 'IPv6';

/** False for services whose endpoints are written by users. */
export function selectsPods(service: Service): boolean {
  return service.spec.selector !== undefined && service.spec.type !== 'ExternalName';
}

export function isHeadless(service: Service): boolean {
  return service.spec.clusterIP === 'None';
}

/** `pods` are in the service's namespace. */
export function selectedPods(service: Service, pods: readonly Pod[]): Pod[] {
  const selector = selectorFromLabels(service.spec.selector);
  return pods.filter((pod) => selector.matches(pod.metadata.labels));
}

/** Whether the pod has an address and is not finished. Pods being deleted count if `includeTerminating`. */
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

/** The IP families of the service. */
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

/** The service's ports, resolved to the pod's port numbers; omits ports that the pod lacks. */
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
    const match = container.ports?.find((each) => each.name === target && (each.protocol ?? 'TCP') === protocol);
    if (match !== undefined) return match.containerPort;
  }
  return undefined;
}

/** The pod's own host name below the service's DNS name. */
export function hostnameOf(service: Service, pod: Pod): string | undefined {
  const { hostname, subdomain } = pod.spec;
  return hostname !== '' && subdomain === service.metadata.name ? hostname : undefined;
}

/** Whether the change may affect endpoints of services that select the pod. */
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
