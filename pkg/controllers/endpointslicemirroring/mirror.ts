/** The endpoint slices that say the same as an Endpoints object which somebody else maintains. Pure. */
import type { EndpointAddress, EndpointSubset, Endpoints, Service } from '#api/core/v1/types.gen.js';
import type { Endpoint, EndpointPort } from '#api/discovery/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { familyOf } from '#controllers/endpoint/members.js';
import { type EndpointGroup, endpointId, groupId } from '#controllers/endpointslice/desired.js';

/** Value of the managed-by label on the slices of this controller. */
export function mirrorManager(dialect: Dialect): string {
  return `endpointslicemirroring-controller.${dialect.apiDomain}`;
}

/** True when nobody else makes slices for the service: it selects no pods, and its Endpoints are not a lock. */
export function shouldMirror(dialect: Dialect, service: Service | undefined, endpoints: Endpoints): boolean {
  const { labels = {}, annotations = {}, deletionTimestamp } = endpoints.metadata;
  if (deletionTimestamp !== undefined || labels[dialect.labels.skipMirror] === 'true') return false;
  if (annotations[dialect.annotations.leader] !== undefined) return false;
  return service !== undefined && service.spec.selector === undefined;
}

/** The mirrored endpoints by ports and family; of each subset `maxPerSubset` addresses at most. */
export function mirroredGroups(endpoints: Endpoints, maxPerSubset: number): Map<string, EndpointGroup> {
  const groups = new Map<string, EndpointGroup>();
  for (const subset of endpoints.subsets ?? []) {
    const ports = portsOf(subset);
    const all = [
      ...(subset.addresses ?? []).map((address) => endpointOf(address, true)),
      ...(subset.notReadyAddresses ?? []).map((address) => endpointOf(address, false)),
    ];
    for (const endpoint of all.slice(0, maxPerSubset)) {
      const addressType = familyOf(endpoint.addresses[0] ?? '');
      const id = groupId(addressType, ports);
      const group = groups.get(id) ?? { addressType, ports, endpoints: new Map() };
      groups.set(id, group);
      const key = endpointId(endpoint);
      // Ready in one subset and not in another of the same ports: ready wins, as it does for Endpoints.
      if (!group.endpoints.has(key) || endpoint.conditions?.ready === true) group.endpoints.set(key, endpoint);
    }
  }
  return groups;
}

function portsOf({ ports = [] }: EndpointSubset): EndpointPort[] {
  return ports.map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
    name,
    port,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}
