/** Which endpoints of a service port traffic goes to, as release 1.24 chooses them. Pure. */
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { Family, NodeView, Protocol } from '#proxy/services/proxy-settings.js';

export interface Endpoint {
  /** Canonical. */
  readonly address: string;
  readonly port: number;
  readonly isReady: boolean;
  /** As `isReady`, also while it ends. */
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  /** On a node whose network this is. */
  readonly isLocal: boolean;
  /** That should use it; undefined: it has no hint. */
  readonly zones: readonly string[] | undefined;
}

export interface PortQuery {
  /** Of the service's port; empty for the only one. */
  readonly portName: string;
  readonly protocol: Protocol;
  readonly family: Family;
}

/** The endpoints of a port in all slices of its service, each once, in the order of their addresses. */
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
        // A pod that ends may be in one slice still while its successor's is there.
        if (existing === undefined || (!existing.isReady && endpoint.isReady)) byTarget.set(key, endpoint);
      }
    }
  }
  return [...byTarget.values()].sort((a, b) => (targetOf(a) < targetOf(b) ? -1 : 1));
}

/** In the language of nft. */
export function targetOf({ address, port }: Pick<Endpoint, 'address' | 'port'>): string {
  return `${address} . ${port}`;
}

export interface TrafficPolicy {
  readonly isInternalLocal: boolean;
  readonly isExternalLocal: boolean;
  /** It has addresses or ports for those outside. */
  readonly isExternal: boolean;
  /** Value of the annotation about hints. */
  readonly hints: string;
}

export interface Reachable {
  /** Of all nodes. */
  readonly cluster: readonly Endpoint[];
  readonly local: readonly Endpoint[];
  /** Whether somebody somewhere answers: packets that reach nobody here are then dropped instead of refused. */
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
    // Those that end are better than none, wherever they are.
    cluster: near.length > 0 ? near : ending,
    local: local.length > 0 ? local : ending.filter(({ isLocal }) => isLocal),
    hasAny,
  };
}

function hintsAreOn(annotation: string): boolean {
  return annotation === 'Auto' || annotation === 'auto';
}

/** The node's zone where hints can be followed: every ready endpoint has some, and one is for the zone. */
function usableZone(ready: readonly Endpoint[], zone: string | undefined): string | undefined {
  if (zone === undefined || zone === '') return undefined;
  if (ready.some(({ zones = [] }) => zones.length === 0)) return undefined;
  return ready.some(({ zones = [] }) => zones.includes(zone)) ? zone : undefined;
}
