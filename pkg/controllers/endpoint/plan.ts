/** The Endpoints object of a service. Pure. */
import { isPodReady } from '#api/core/v1/pod/conditions.js';
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Pod, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import {
  addressesOf,
  familiesOf,
  familyOf,
  hostnameOf,
  isHeadless,
  isMember,
  portsOf,
  selectedPods,
} from '#controllers/endpoint/members.js';

/** Addresses in one object at most, as in 1.24. */
const maxAddresses = 1000;

export type EndpointsAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly endpoints: Endpoints }
  | { readonly kind: 'update'; readonly endpoints: Endpoints };

export interface EndpointsObservation {
  readonly dialect: Dialect;
  readonly service: Service;
  /** Of the service's namespace. */
  readonly pods: readonly Pod[];
  readonly current: Endpoints | undefined;
  /** When what has changed since the last look has happened; undefined when nothing has. */
  readonly triggered?: string | undefined;
}

export function planEndpoints({ dialect, service, pods, current, triggered }: EndpointsObservation): EndpointsAction {
  const { subsets, truncated } = truncate(subsetsOf(service, pods));
  const labels: Record<string, string> = { ...service.metadata.labels };
  if (isHeadless(service)) labels[dialect.labels.headlessService] = '';
  const { overCapacity, endpointsLastChange } = dialect.annotations;
  const { [overCapacity]: capacity, [endpointsLastChange]: _last, ...others } = current?.metadata.annotations ?? {};
  const annotations = {
    ...others,
    ...(triggered === undefined ? {} : { [endpointsLastChange]: triggered }),
    ...(truncated ? { [overCapacity]: 'truncated' } : {}),
  };
  if (current === undefined) {
    const { name = '', namespace = '' } = service.metadata;
    return { kind: 'create', endpoints: { metadata: { name, namespace, labels, annotations }, subsets } };
  }
  const same =
    semanticEqual(current.subsets, subsets) &&
    semanticEqual(current.metadata.labels ?? {}, labels) &&
    (capacity === undefined) !== truncated;
  if (same) return { kind: 'none' };
  return { kind: 'update', endpoints: { ...current, metadata: { ...current.metadata, labels, annotations }, subsets } };
}

/** Pods with the same ports share a subset. */
function subsetsOf(service: Service, pods: readonly Pod[]): EndpointSubset[] {
  const subsets = new Map<string, { ready: EndpointAddress[]; notReady: EndpointAddress[]; ports: EndpointPort[] }>();
  const [family] = familiesOf(service);
  for (const pod of selectedPods(service, pods)) {
    if (!isMember(pod, service.spec.publishNotReadyAddresses === true)) continue;
    const ip = addressesOf(pod).find((each) => familyOf(each) === family);
    const ports = portsOf(service, pod).map(({ name, ...port }) => (name === '' ? port : { name, ...port }));
    const portless = isHeadless(service) && (service.spec.ports ?? []).length === 0;
    if (ip === undefined || (ports.length === 0 && !portless)) continue;
    ports.sort((a, b) => compareText(JSON.stringify(a), JSON.stringify(b)));
    const id = JSON.stringify(ports);
    const subset = subsets.get(id) ?? { ready: [], notReady: [], ports };
    subsets.set(id, subset);
    const ready = service.spec.publishNotReadyAddresses === true || isPodReady(pod);
    (ready ? subset.ready : subset.notReady).push(addressOf(service, pod, ip));
  }
  return [...subsets]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, { ready, notReady, ports }]) => ({
      ...(ready.length === 0 ? {} : { addresses: ready.sort(byAddress) }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady.sort(byAddress) }),
      ...(ports.length === 0 ? {} : { ports }),
    }));
}

function addressOf(service: Service, pod: Pod, ip: string): EndpointAddress {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const { nodeName } = pod.spec;
  const hostname = hostnameOf(service, pod);
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

/** Keeps the largest legal number of addresses, those that are ready first. */
function truncate(subsets: EndpointSubset[]): { subsets: EndpointSubset[]; truncated: boolean } {
  const count = (list: EndpointAddress[] | undefined) => list?.length ?? 0;
  const total = subsets.reduce((sum, each) => sum + count(each.addresses) + count(each.notReadyAddresses), 0);
  if (total <= maxAddresses) return { subsets, truncated: false };
  let left = maxAddresses;
  const take = (list: EndpointAddress[] | undefined): EndpointAddress[] => {
    const taken = (list ?? []).slice(0, left);
    left -= taken.length;
    return taken;
  };
  const ready = subsets.map((each) => take(each.addresses));
  const notReady = subsets.map((each) => take(each.notReadyAddresses));
  const kept = subsets.map(({ ports = [] }, i) => ({
    ...(count(ready[i]) === 0 ? {} : { addresses: ready[i] ?? [] }),
    ...(count(notReady[i]) === 0 ? {} : { notReadyAddresses: notReady[i] ?? [] }),
    ports,
  }));
  return { subsets: kept.filter((_, i) => count(ready[i]) + count(notReady[i]) > 0), truncated: true };
}

function byAddress(a: EndpointAddress, b: EndpointAddress): number {
  return compareText(a.ip, b.ip) || compareText(a.targetRef?.uid ?? '', b.targetRef?.uid ?? '');
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
