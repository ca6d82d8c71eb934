/** Defaults of services, and fields that an update inherits from the stored service; all set in place. */

import type { Service, ServicePort, ServiceSpec } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';

const affinityTimeoutSeconds = 3 * 60 * 60;

export function defaultService(service: Draft<Service>): void {
  const { spec } = service;
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    spec.sessionAffinityConfig ??= {};
    spec.sessionAffinityConfig.clientIP ??= {};
    spec.sessionAffinityConfig.clientIP.timeoutSeconds ??= affinityTimeoutSeconds;
  }
  for (const port of spec.ports ?? []) {
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port;
  }
  if (isExternal(spec)) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
}

/** Reachable from outside of the cluster through nodes. */
export function isExternal(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer';
}

/** Without cluster IP: DNS returns the addresses of the pods. */
export function isHeadless(service: Service): boolean {
  return (service.spec.clusterIPs?.[0] ?? service.spec.clusterIP) === 'None';
}

export function needsHealthCheckPort(spec: ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

/** The older singular field alone becomes the only element of the list. */
export function normalizeClusterIPs(spec: Draft<ServiceSpec>, old?: ServiceSpec): void {
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (old === undefined) {
    if (clusterIP !== '' && clusterIPs.length === 0) spec.clusterIPs = [clusterIP];
    return;
  }
  const oldIP = old.clusterIP ?? '';
  const sameList = semanticEqual(old.clusterIPs, spec.clusterIPs);
  // A client that knows only the singular field changed or cleared it and returned the list unchanged.
  if (oldIP !== '' && clusterIP === '' && sameList) delete spec.clusterIPs;
  if (clusterIP !== '' && oldIP !== clusterIP && sameList) spec.clusterIPs = [clusterIP];
}

/** Allocated values that are still needed stay if the client omits them. */
export function keepAllocated(spec: Draft<ServiceSpec>, old: ServiceSpec): void {
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    if ((spec.clusterIP ?? '') === '' && old.clusterIP !== undefined) spec.clusterIP = old.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && spec.clusterIP === old.clusterIP && old.clusterIPs !== undefined) {
      spec.clusterIPs = [...old.clusterIPs];
    }
  }
  if (isExternal(spec) && isExternal(old)) keepNodePorts(spec.ports ?? [], old.ports ?? []);
  if (needsHealthCheckPort(spec) && needsHealthCheckPort(old) && old.healthCheckNodePort !== undefined) {
    spec.healthCheckNodePort ||= old.healthCheckNodePort;
  }
}

function keepNodePorts(ports: Draft<ServicePort[]>, old: readonly ServicePort[]): void {
  const key = (port: ServicePort): string => `${port.protocol}/${port.port}`;
  const byPort = new Map(old.map((port) => [key(port), port.nodePort]));
  const used = new Set(ports.map((port) => `${port.protocol}/${port.nodePort}`));
  for (const port of ports) {
    const before = byPort.get(key(port));
    if ((port.nodePort ?? 0) === 0 && before !== undefined && !used.has(`${port.protocol}/${before}`)) {
      port.nodePort = before;
    }
  }
}

/** Drops fields that the new type of service does not support, unless the client changed them. */
export function dropFieldsOfOldType(spec: Draft<ServiceSpec>, old: ServiceSpec): void {
  const same = (field: keyof ServiceSpec): boolean => semanticEqual(spec[field], old[field]);
  if (old.type !== 'ExternalName' && spec.type === 'ExternalName') {
    if (same('clusterIP') && same('clusterIPs')) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    for (const field of ['ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy'] as const) {
      if (same(field)) delete spec[field];
    }
  }
  if (isExternal(old) && !isExternal(spec)) {
    const nodePorts = (s: ServiceSpec): (number | undefined)[] => (s.ports ?? []).map((port) => port.nodePort);
    if (semanticEqual(nodePorts(spec), nodePorts(old))) for (const port of spec.ports ?? []) delete port.nodePort;
    if (same('externalTrafficPolicy')) delete spec.externalTrafficPolicy;
  }
  if (needsHealthCheckPort(old) && !needsHealthCheckPort(spec) && same('healthCheckNodePort')) {
    delete spec.healthCheckNodePort;
  }
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    for (const field of ['allocateLoadBalancerNodePorts', 'loadBalancerClass'] as const) {
      if (same(field)) delete spec[field];
    }
  }
}
