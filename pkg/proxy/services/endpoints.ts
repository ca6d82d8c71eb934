/** Chooses the endpoints of a service port, as release 1.24 does. Pure. */
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { Family, NodeView, Protocol } from '#proxy/services/proxy-settings.js';

export interface Endpoint {
  /** Canonical. */
  readonly address: string;
  readonly port: number;
  readonly isReady: boolean;
  /** Like `isReady`, but also true while terminating. */
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  /** On one of the nodes that share this network. */
  readonly isLocal: boolean;
  /** Zones that should use it; undefined without hints. */
  readonly zones: readonly string[] | undefined;
}

export interface PortQuery {
  /** Name of the service port; empty for an unnamed one. */
  readonly portName: string;
  readonly protocol: Protocol;
  readonly family: Family;
}

/** Endpoints of a port in all slices of a service, without duplicates, sorted by address. */
export function endpointsOf(slices: readonly EndpointSlice[], query: PortQuery, node: NodeView): Endpoint[] {
  const byTarget = new Map<string, Endpoint>();
  for (const { addressType, endpoints, ports = [] } of slices) {
    if (addressType !== query.family) continue;
    for (const port of ports) {
      if ((port.name ?? '') !== query.portName || (port.protocol ?? 'TCP') !== query.protocol) continue;
      if (port.port === undefined) continue;
      for (const { addresses, conditions, hints, nodeName } of endpoints) {
        const address = canonicalAddress(addresses[0] ?? '');
        if (address === undefined) continue;
        const isReady = conditions?.ready ?? true;
        const endpoint: Endpoint = {
          address,
          port: port.port,
          isReady,
          isServing: conditions?.serving ?? isReady,
          isTerminating: conditions?.terminating ?? false,
          isLocal: nodeName !== undefined && node.names.has(nodeName),
          zones: hints?.forZones?.map(({ name }) => name),
        };
        const key = targetOf(endpoint);
        const existing = byTarget.get(key);
        // A terminating pod and its successor may appear in different slices.
        if (existing === undefined || (!existing.isReady && endpoint.isReady)) byTarget.set(key, endpoint);
      }
    }
  }
  return [...byTarget.values()].sort((a, b) => (targetOf(a) < targetOf(b) ? -1 : 1));
}

/** In nft's syntax. */
export function targetOf({ address, port }: Pick<Endpoint, 'address' | 'port'>): string {
  return `${address} . ${port}`;
}

export interface TrafficPolicy {
  readonly isInternalLocal: boolean;
  readonly isExternalLocal: boolean;
  /** Whether the service has external addresses or ports. */
  readonly isExternal: boolean;
  /** Value of the topology hints annotation. */
  readonly hints: string;
}

export interface Reachable {
  /** Endpoints of all nodes. */
  readonly cluster: readonly Endpoint[];
  readonly local: readonly Endpoint[];
  /** Whether any endpoint exists: packets without a reachable one are dropped then instead of rejected. */
  readonly hasAny: boolean;
}

export interface EndpointGates {
  readonly topologyAwareHints: boolean;
  readonly proxyTerminatingEndpoints: boolean;
}

export function reachable(
  endpoints: readonly Endpoint[],
  policy: TrafficPolicy,
  { gates, node }: { readonly gates: EndpointGates; readonly node: NodeView },
): Reachable {
  const isEnding = ({ isServing, isTerminating }: Endpoint) =>
    gates.proxyTerminatingEndpoints && isServing && isTerminating;
  const ready = endpoints.filter(({ isReady }) => isReady);
  const ending = endpoints.filter((endpoint) => !endpoint.isReady && isEnding(endpoint));
  const hasAny = ready.length > 0 || ending.length > 0;
  const local = ready.filter(({ isLocal }) => isLocal);
  const zone = gates.topologyAwareHints && hintsAreOn(policy.hints) ? usableZone(ready, node.zone) : undefined;
  const near = zone === undefined ? ready : ready.filter(({ zones = [] }) => zones.includes(zone));
  return {
    // Terminating endpoints are better than none.
    cluster: near.length > 0 ? near : ending,
    local: local.length > 0 ? local : ending.filter(({ isLocal }) => isLocal),
    hasAny,
  };
}

function hintsAreOn(annotation: string): boolean {
  return annotation === 'Auto' || annotation === 'auto';
}

/** The node's zone if hints can be used: all ready endpoints have hints, and one includes the zone. */
function usableZone(ready: readonly Endpoint[], zone: string | undefined): string | undefined {
  if (zone === undefined || zone === '') return undefined;
  if (ready.some(({ zones = [] }) => zones.length === 0)) return undefined;
  return ready.some(({ zones = [] }) => zones.includes(zone)) ? zone : undefined;
}
