/** Derives from a Service's type which addresses and ports it needs, and which fields an update keeps. Pure. */

import type { Service, ServicePort } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';

export type IpFamily = 'IPv4' | 'IPv6';

export const headlessIP = 'None';

export const needsClusterIP = (service: Service): boolean => service.spec?.type !== 'ExternalName';

export const isHeadless = (service: Service): boolean =>
  service.spec?.clusterIP === headlessIP || service.spec?.clusterIPs?.[0] === headlessIP;

export function needsNodePorts(service: Service): boolean {
  const { type, allocateLoadBalancerNodePorts } = service.spec ?? {};
  return type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false);
}

export function needsHealthCheckPort(service: Service): boolean {
  return service.spec?.type === 'LoadBalancer' && service.spec.externalTrafficPolicy === 'Local';
}

/** Addresses that the Service holds in the ranges. */
export function heldIPs(service: Service): string[] {
  if (!needsClusterIP(service) || isHeadless(service)) return [];
  const { clusterIP = '', clusterIPs = [] } = service.spec ?? {};
  const all = clusterIPs.length > 0 ? clusterIPs : [clusterIP];
  return all.filter((ip) => ip !== '' && ip !== headlessIP);
}

/** Node ports that the Service holds, including its health check port. */
export function heldPorts(service: Service): number[] {
  const { ports = [], healthCheckNodePort = 0 } = service.spec ?? {};
  const all = [...ports.map(({ nodePort = 0 }) => nodePort), healthCheckNodePort];
  return [...new Set(all)].filter((port) => port !== 0);
}

/** `clusterIP` is the first of `clusterIPs`; a client that sets only one of them means both. */
export function alignClusterIPs(service: Draft<Service>, old: Service | undefined): void {
  const { spec } = service;
  if (spec === undefined) return;
  if (old === undefined) {
    if ((spec.clusterIP ?? '') !== '' && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [spec.clusterIP ?? ''];
    return;
  }
  const { clusterIP: oldIP = '', clusterIPs: oldIPs = [] } = old.spec ?? {};
  const sameIPs = JSON.stringify(spec.clusterIPs ?? []) === JSON.stringify(oldIPs);
  if ((spec.clusterIP ?? '') === oldIP || !sameIPs) return;
  // An older client that does not know the list has set only the single field.
  if ((spec.clusterIP ?? '') === '') delete spec.clusterIPs;
  else spec.clusterIPs = [spec.clusterIP ?? '', ...oldIPs.slice(1)];
}

/** Keeps the stored Service's addresses and ports if the client omits them. */
export function keepAllocated(service: Draft<Service>, old: Service): void {
  const { spec } = service;
  const before = old.spec;
  if (spec === undefined || before === undefined) return;
  if (needsClusterIP(service) && needsClusterIP(old)) {
    if ((spec.clusterIP ?? '') === '' && before.clusterIP !== undefined) spec.clusterIP = before.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && before.clusterIPs !== undefined && spec.clusterIP === before.clusterIP)
      spec.clusterIPs = [...before.clusterIPs];
    spec.ipFamilies ??= before.ipFamilies === undefined ? [] : [...before.ipFamilies];
    if (spec.ipFamilyPolicy === undefined && before.ipFamilyPolicy !== undefined)
      spec.ipFamilyPolicy = before.ipFamilyPolicy;
  }
  if (needsNodePorts(service) && needsNodePorts(old)) keepNodePorts(spec.ports ?? [], before.ports ?? []);
  if (needsHealthCheckPort(service) && needsHealthCheckPort(old) && (spec.healthCheckNodePort ?? 0) === 0)
    if (before.healthCheckNodePort !== undefined) spec.healthCheckNodePort = before.healthCheckNodePort;
}

function keepNodePorts(ports: Draft<ServicePort[]>, old: readonly ServicePort[]): void {
  const key = ({ protocol = 'TCP', port }: ServicePort) => `${protocol}/${port}`;
  const oldPorts = new Map(old.map((port) => [key(port), port.nodePort ?? 0]));
  const used = new Set(ports.map(({ nodePort = 0 }) => nodePort));
  for (const port of ports) {
    const before = oldPorts.get(key(port)) ?? 0;
    if ((port.nodePort ?? 0) !== 0 || before === 0 || used.has(before)) continue;
    port.nodePort = before;
    used.add(before);
  }
}

/** After a change of type: drops fields of the old type that the client returned unchanged. */
export function dropFieldsOfOldType(service: Draft<Service>, old: Service): void {
  const { spec } = service;
  const before = old.spec;
  if (spec === undefined || before === undefined) return;
  if (!needsClusterIP(service) && needsClusterIP(old)) {
    if (spec.clusterIP === before.clusterIP) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    delete spec.ipFamilies;
    delete spec.ipFamilyPolicy;
  }
  if (!needsNodePorts(service) && needsNodePorts(old)) {
    const same = (spec.ports ?? []).every(
      (port, i) => (port.nodePort ?? 0) === 0 || port.nodePort === before.ports?.[i]?.nodePort,
    );
    if (same) for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (
    !needsHealthCheckPort(service) &&
    needsHealthCheckPort(old) &&
    spec.healthCheckNodePort === before.healthCheckNodePort
  )
    delete spec.healthCheckNodePort;
}
