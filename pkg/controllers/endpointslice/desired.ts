/** Computes the endpoints of a service, grouped by ports and address family. Pure. */
import { isPodReady } from '#api/core/v1/pod/conditions.js';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import type { Endpoint, EndpointPort } from '#api/discovery/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  addressesOf,
  familiesOf,
  familyOf,
  hostnameOf,
  type IPFamily,
  isMember,
  type NodeOf,
  portsOf,
  selectedPods,
} from '#controllers/endpoint/members.js';

/** Endpoints with the same ports, which can share slices. */
export interface EndpointGroup {
  readonly addressType: IPFamily;
  readonly ports: readonly EndpointPort[];
  /** By `endpointId`. */
  readonly endpoints: Map<string, Endpoint>;
}

export function groupId(addressType: string, ports: readonly EndpointPort[] | undefined): string {
  const sorted = (ports ?? []).map(({ name = '', port, protocol, appProtocol }) =>
    JSON.stringify([name, port, protocol, appProtocol]),
  );
  return `${addressType} ${sorted.sort().join(' ')}`;
}

/** The identity of an endpoint across changes of its conditions: its pod and addresses. */
export function endpointId({ targetRef, addresses }: Endpoint): string {
  return JSON.stringify([targetRef?.uid ?? targetRef?.name ?? '', addresses]);
}

export function desiredGroups(
  dialect: Dialect,
  service: Service,
  pods: readonly Pod[],
  nodeOf: NodeOf,
): Map<string, EndpointGroup> {
  const groups = new Map<string, EndpointGroup>();
  for (const pod of selectedPods(service, pods)) {
    if (!isMember(pod, true)) continue;
    const ports = portsOf(service, pod);
    for (const addressType of familiesOf(service)) {
      const addresses = addressesOf(pod).filter((ip) => familyOf(ip) === addressType);
      if (addresses.length === 0) continue;
      const id = groupId(addressType, ports);
      const group = groups.get(id) ?? { addressType, ports, endpoints: new Map() };
      groups.set(id, group);
      const endpoint = endpointOf(dialect, service, pod, addresses, nodeOf);
      group.endpoints.set(endpointId(endpoint), endpoint);
    }
  }
  return groups;
}

function endpointOf(dialect: Dialect, service: Service, pod: Pod, addresses: string[], nodeOf: NodeOf): Endpoint {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const { nodeName } = pod.spec;
  const serving = isPodReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const hostname = hostnameOf(service, pod);
  const zone = nodeName === undefined ? undefined : nodeOf(nodeName)?.metadata.labels?.[dialect.labels.zone];
  return {
    addresses,
    conditions: {
      // Clients that ignore `terminating` must not use terminating endpoints.
      ready: service.spec.publishNotReadyAddresses === true || (serving && !terminating),
      serving,
      terminating,
    },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zone === undefined ? {} : { zone }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}
