/** Checks whether a pod's requests fit on the node beside its other pods. Rules of release 1.24's scheduler. */
import { podRequests } from '#api/core/v1/pod/resources.js';
import { isExtendedResource } from '#api/core/v1/resources/names.js';
import type { Container, ContainerPort, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { milliValue, value } from '#apimachinery/quantity.js';

/** CPU in thousandths, everything else in whole units. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

const counted = ['cpu', 'memory', 'ephemeral-storage'];
const amount = (name: string, quantity = '0'): number => (name === 'cpu' ? milliValue(quantity) : value(quantity));

/** A pod's request of a resource: CPU in thousandths, everything else in whole units. */
export function requestOf(pod: Pod, resource: string): number {
  return resource === 'pods' ? 1 : amount(resource, podRequests(pod)[resource]);
}

/** The resources that do not suffice. `allocatable`: quantities by name. */
export function shortages(
  pod: Pod,
  others: readonly Pod[],
  allocatable: Readonly<Record<string, string>>,
  dialect: Dialect,
): Shortage[] {
  const result: Shortage[] = [];
  const places = value(allocatable['pods'] ?? '0');
  if (others.length + 1 > places) {
    result.push({ resource: 'pods', requested: 1, used: others.length, capacity: places });
  }
  const requests = podRequests(withoutForeign(pod, allocatable, dialect));
  const asksFor = (name: string) => amount(name, requests[name]) > 0;
  const names = [...counted, ...Object.keys(requests).filter((name) => isScalar(name, dialect))];
  if (!names.some(asksFor)) return result;
  const otherRequests = others.map((other) => podRequests(other));
  for (const resource of names) {
    const requested = amount(resource, requests[resource]);
    const used = otherRequests.reduce((sum, each) => sum + amount(resource, each[resource]), 0);
    const capacity = amount(resource, allocatable[resource]);
    if (requested > capacity - used) result.push({ resource, requested, used, capacity });
  }
  return result;
}

function isScalar(name: string, dialect: Dialect): boolean {
  return name.startsWith('hugepages-') || isExtendedResource(name, dialect);
}

/** Drops extended resources that the node does not have, since other components count them. */
function withoutForeign(pod: Pod, allocatable: Readonly<Record<string, string>>, dialect: Dialect): Pod {
  const isHere = (name: string) => !isExtendedResource(name, dialect) || Object.hasOwn(allocatable, name);
  const containers = pod.spec.containers.map((container): Container => {
    const requests = Object.entries(container.resources?.requests ?? {}).filter(([name]) => isHere(name));
    return { ...container, resources: { ...container.resources, requests: Object.fromEntries(requests) } };
  });
  return { ...pod, spec: { ...pod.spec, containers } };
}

/** True if another pod uses one of the pod's host ports. */
export function hasPortConflict(pod: Pod, others: readonly Pod[]): boolean {
  const usedPorts = others.flatMap(hostPorts);
  return hostPorts(pod).some((port) => usedPorts.some((other) => clash(port, other)));
}

function hostPorts({ spec }: Pod): ContainerPort[] {
  return spec.containers.flatMap(({ ports = [] }) => ports.filter(({ hostPort = 0 }) => hostPort > 0));
}

/** An absent or zero address means all of the node's addresses. */
function clash(a: ContainerPort, b: ContainerPort): boolean {
  if (a.hostPort !== b.hostPort || (a.protocol ?? 'TCP') !== (b.protocol ?? 'TCP')) return false;
  const [left, right] = [a, b].map(({ hostIP = '' }) => (hostIP === '' ? '0.0.0.0' : hostIP));
  return left === '0.0.0.0' || right === '0.0.0.0' || left === right;
}
