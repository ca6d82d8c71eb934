/**
 * Plans the routes from this machine's pods to the pods of other nodes: a plain route to a node on the same network, a VXLAN
 * tunnel to a node behind routers, which do not know the pods' addresses. Pure.
 */
import { createHash } from 'node:crypto';
import { blockAround, blockContains, canonicalAddress, ipBytes, ipFamily, parseCIDR } from '#apimachinery/net/ip.js';

/** The relevant fields of a node. */
export interface PodNode {
  readonly name: string;
  /** Ranges of its pods, at most one of each family. */
  readonly podCIDRs: readonly string[];
  /** Addresses of the machine. */
  readonly addresses: readonly string[];
}

/** An address of an interface of this machine. */
export interface LinkAddress {
  readonly link: string;
  readonly address: string;
  /** Prefix length of the network that is reached through it. */
  readonly prefix: number;
  /** Largest packet of the interface, in bytes. */
  readonly mtu: number;
}

interface PlanInput {
  readonly nodes: readonly PodNode[];
  /** Names of this machine's nodes. */
  readonly own: ReadonlySet<string>;
  /** Addresses of this machine; those of its pods' networks are ignored. */
  readonly links: readonly LinkAddress[];
  /** Name of the tunnel's interface. */
  readonly tunnel: string;
}

/** A route to the pods of another node. */
export interface PodRoute {
  /** Range of its pods. */
  readonly destination: string;
  /** Address of the node. */
  readonly via: string;
  readonly link: string;
  /** Route through the tunnel, where every node counts as a neighbour. */
  readonly onlink: boolean;
}

/** A node at the other end of the tunnel. */
export interface TunnelPeer {
  /** Destination of tunnel packets, of the same family as the tunnel's own end. */
  readonly remote: string;
  /** Hardware address of the node's end, derived from `remote`, so that it need not be exchanged. */
  readonly mac: string;
  /** Gateways of the routes to it, at most one of each family. */
  readonly gateways: readonly string[];
}

export interface Tunnel {
  /** This machine's address: the source of tunnel packets. */
  readonly local: string;
  readonly link: string;
  readonly mac: string;
  readonly mtu: number;
  /**
   * IPv4 address of the machine within the pod network: the source of its own packets through the tunnel. For IPv6 the
   * kernel chooses the address of the pods' bridge. Undefined without an IPv4 range.
   */
  readonly address: string | undefined;
  readonly peers: readonly TunnelPeer[];
}

export interface NetworkPlan {
  readonly routes: readonly PodRoute[];
  /** Undefined when no node needs it. */
  readonly tunnel: Tunnel | undefined;
  /** Reasons why pods of some nodes are unreachable. */
  readonly problems: readonly string[];
}

/** Bytes that VXLAN adds to a packet, by the family of its ends: both IP headers, UDP, and its own header. */
const tunnelOverhead = { 4: 50, 6: 70 } as const;

export function planNetwork({ nodes, own, links, tunnel: tunnelLink }: PlanInput): NetworkPlan {
  const ownRanges = nodes.filter(({ name }) => own.has(name)).flatMap(({ podCIDRs }) => podCIDRs);
  const outer = links.filter(({ address, link }) => link !== tunnelLink && !isInRanges(address, ownRanges));
  const machine = new Set(outer.map(({ address }) => canonicalAddress(address)));
  const ends = tunnelEnds(nodes, own, outer);
  const routes: PodRoute[] = [];
  const peers = new Map<string, TunnelPeer>();
  const problems: string[] = [];
  for (const { name, podCIDRs, addresses } of [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    // Other nodes of this machine need no route.
    if (own.has(name) || addresses.some((address) => machine.has(canonicalAddress(address)))) continue;
    for (const destination of podCIDRs) {
      const family = parseCIDR(destination)?.family;
      const via = addresses.find((address) => ipFamily(address) === family);
      if (family === undefined || via === undefined) {
        problems.push(`node ${name} has no address for its pods' range ${destination}`);
        continue;
      }
      const near = outer.find((each) => isNeighbour(each, via));
      if (near !== undefined) {
        routes.push({ destination, via, link: near.link, onlink: false });
        continue;
      }
      if (ends === undefined) {
        // Before the own node has a range it has no pods, so this is no problem yet.
        if (ownRanges.length > 0) problems.push(`node ${name} is on another network, and this node has no address`);
        continue;
      }
      const outerFamily = ipFamily(ends.local);
      const remote = addresses.find((address) => ipFamily(address) === outerFamily);
      if (remote === undefined) {
        problems.push(`node ${name} is on another network, and has no IPv${outerFamily} address for the tunnel`);
        continue;
      }
      routes.push({ destination, via, link: tunnelLink, onlink: true });
      const gateways = peers.get(remote)?.gateways ?? [];
      if (!gateways.includes(via)) peers.set(remote, { remote, mac: macOf(remote), gateways: [...gateways, via] });
    }
  }
  const tunnel = ends === undefined || peers.size === 0 ? undefined : { ...ends, peers: [...peers.values()] };
  return { routes, tunnel, problems };
}

/** The tunnel's own end, with an IPv4 address if the machine has one. The tunnel carries packets of both families. */
function tunnelEnds(
  nodes: readonly PodNode[],
  own: ReadonlySet<string>,
  outer: readonly LinkAddress[],
): Omit<Tunnel, 'peers'> | undefined {
  const ownNodes = nodes.filter(({ name }) => own.has(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const family of [4, 6] as const) {
    for (const { addresses, podCIDRs } of ownNodes) {
      const end = outer.find(({ address }) => ipFamily(address) === family && addresses.includes(address));
      if (podCIDRs.length === 0 || end === undefined) continue;
      const { address: local, link, mtu } = end;
      const range = podCIDRs.find((cidr) => parseCIDR(cidr)?.family === 4);
      // Neither a pod nor the bridge has the first address of the range.
      const address = range?.split('/')[0];
      return { local, link, mac: macOf(local), mtu: mtu - tunnelOverhead[family], address };
    }
  }
  return undefined;
}

function isInRanges(address: string, ranges: readonly string[]): boolean {
  return ranges.some((range) => {
    const block = parseCIDR(range);
    return block !== undefined && blockContains(block, address);
  });
}

function isNeighbour({ address, prefix }: LinkAddress, other: string): boolean {
  const block = blockAround(address, prefix);
  return block !== undefined && blockContains(block, other);
}

/** A locally administered hardware address, with the four bytes of an IPv4 address, or of a hash of an IPv6 address. */
function macOf(address: string): string {
  const whole = ipBytes(address) ?? new Uint8Array(16);
  const bytes = ipFamily(address) === 4 ? whole.slice(12) : createHash('sha256').update(whole).digest().subarray(0, 4);
  return ['0a', '6f', ...Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))].join(':');
}
