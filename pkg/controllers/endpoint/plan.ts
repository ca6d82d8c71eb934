/** Plans the Endpoints object of a service. Pure. */
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
import { compareText } from '#controllers/framework/order.js';

/** The maximum of addresses in one object, as in 1.24. */
const maxAddresses = 1000;

export type EndpointsAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly endpoints: Endpoints }
  | { readonly kind: 'update'; readonly endpoints: Endpoints };

export interface EndpointsObservation {
  readonly dialect: Dialect;
  readonly service: Service;
  /** Pods in the service's namespace. */
  readonly pods: readonly Pod[];
  readonly current: Endpoints | undefined;
  /** When the earliest change since the last reconcile happened; undefined when nothing has changed. */
  readonly changedAt?: string | undefined;
}

export function planEndpoints({ dialect, service, pods, current, changedAt }: EndpointsObservation): EndpointsAction {
  const { subsets, truncated } = truncate(subsetsOf(service, pods));
  const labels: Record<string, string> = { ...service.metadata.labels };
  if (isHeadless(service)) labels[dialect.labels.headlessService] = '';
  const { overCapacity, endpointsLastChange } = dialect.annotations;
  const { [overCapacity]: capacity, [endpointsLastChange]: _last, ...others } = current?.metadata.annotations ?? {};
  const annotations = {
    ...others,
    ...(changedAt === undefined ? {} : { [endpointsLastChange]: changedAt }),
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

interface Member {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}

/** Ports with the same pods share a subset, as in 1.24. */
function subsetsOf(service: Service, pods: readonly Pod[]): EndpointSubset[] {
  const membersOf = new Map<string, { readonly port: EndpointPort | undefined; readonly members: Member[] }>();
  const tolerant = service.spec.publishNotReadyAddresses === true;
  const [family] = familiesOf(service);
  for (const pod of selectedPods(service, pods)) {
    if (!isMember(pod, tolerant)) continue;
    const ip = addressesOf(pod).find((each) => familyOf(each) === family);
    if (ip === undefined) continue;
    const member = { address: addressOf(service, pod, ip), ready: tolerant || isPodReady(pod) };
    for (const [id, port] of portsById(service, pod)) {
      const entry = membersOf.get(id) ?? { port, members: [] };
      membersOf.set(id, entry);
      entry.members.push(member);
    }
  }
  const groups = new Map<string, { readonly ports: EndpointPort[]; readonly members: readonly Member[] }>();
  for (const id of [...membersOf.keys()].sort(compareText)) {
    const { port, members = [] } = membersOf.get(id) ?? {};
    members.sort((a, b) => byAddress(a.address, b.address));
    const memberIds = JSON.stringify(members.map(({ address }) => [address.ip, address.targetRef?.uid]));
    const group = groups.get(memberIds) ?? { ports: [], members };
    groups.set(memberIds, group);
    if (port !== undefined) group.ports.push(port);
  }
  return [...groups.values()].map(({ ports, members }) => {
    const ready = members.filter((each) => each.ready).map(({ address }) => address);
    const notReady = members.filter((each) => !each.ready).map(({ address }) => address);
    return {
      ...(ready.length === 0 ? {} : { addresses: ready }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
      ...(ports.length === 0 ? {} : { ports }),
    };
  });
}

/** The pod's ports by identity; a headless service without ports has one undefined port. */
function portsById(service: Service, pod: Pod): Map<string, EndpointPort | undefined> {
  if (isHeadless(service) && (service.spec.ports ?? []).length === 0) return new Map([['', undefined]]);
  const ports = portsOf(service, pod).map(({ name, ...port }) => (name === '' ? port : { name, ...port }));
  return new Map(ports.map((port) => [JSON.stringify(port), port]));
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

/** Limits the number of addresses: ready addresses first, then a proportional share of each subset. */
function truncate(subsets: EndpointSubset[]): { subsets: EndpointSubset[]; truncated: boolean } {
  const sum = (key: AddressKey) => subsets.reduce((all, each) => all + (each[key]?.length ?? 0), 0);
  const ready = sum('addresses');
  const notReady = sum('notReadyAddresses');
  if (ready + notReady <= maxAddresses) return { subsets, truncated: false };
  if (ready <= maxAddresses) {
    return {
      subsets: share(subsets, 'notReadyAddresses', { room: maxAddresses - ready, all: notReady }),
      truncated: true,
    };
  }
  const onlyReady = subsets.map(({ notReadyAddresses: _, ...rest }) => rest);
  return { subsets: share(onlyReady, 'addresses', { room: maxAddresses, all: ready }), truncated: true };
}

type AddressKey = 'addresses' | 'notReadyAddresses';

function share(
  subsets: readonly EndpointSubset[],
  key: AddressKey,
  { room, all }: { readonly room: number; readonly all: number },
): EndpointSubset[] {
  let left = room;
  return subsets.map((subset) => {
    const { [key]: addresses = [], ...rest } = subset;
    const part = addresses.slice(0, Math.min(left, Math.ceil((addresses.length / all) * room)));
    left -= part.length;
    return part.length === 0 ? rest : { ...rest, [key]: part };
  });
}

function byAddress(a: EndpointAddress, b: EndpointAddress): number {
  return compareText(a.ip, b.ip) || compareText(a.targetRef?.uid ?? '', b.targetRef?.uid ?? '');
}
