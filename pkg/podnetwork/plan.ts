/**
 * How the packets of this machine's pods get to the pods of other nodes: by a plain route where the other node is on the
 * same network, through a tunnel (VXLAN) where routers are between them, which know nothing of pods. Pure.
 */
import { createHash } from 'node:crypto';
import { blockAround, blockContains, canonicalAddress, ipBytes, ipFamily, parseCIDR } from '#apimachinery/net/ip.js';

/** What counts of a node. */
export interface PodNode {
  readonly name: string;
  /** Ranges of its pods, at most one of each family. */
  readonly podCIDRs: readonly string[];
  /** Of the machine. */
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
  /** Names of the nodes that this machine is. */
  readonly own: ReadonlySet<string>;
  /** Those of the machine; the ones of its pods' own networks among them do not count. */
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
  /** Through the tunnel: the node counts as a neighbour there, wherever it is. */
  readonly onlink: boolean;
}

/** Where the tunnel has to send what is for a node. */
export interface TunnelPeer {
  /** Where its packets go; of the family of the tunnel's own end. */
  readonly remote: string;
  /** Of the node's end of the tunnel; made of `remote`, so that nobody has to tell it. */
  readonly mac: string;
  /** Those by which routes go to it, at most one of each family. */
  readonly gateways: readonly string[];
}

export interface Tunnel {
  /** This machine's address, from which its packets come. */
  readonly local: string;
  readonly link: string;
  readonly mac: string;
  readonly mtu: number;
  /**
   * Of IPv4 and of the machine within the network of pods: what itself sends through the tunnel has it, and is answered
   * there. With IPv6 it has the bridge's of the pods, which is nearest to theirs. Undefined without a range of IPv4.
   */
  readonly address: string | undefined;
  readonly peers: readonly TunnelPeer[];
}

export interface NetworkPlan {
  readonly routes: readonly PodRoute[];
  /** Undefined where none is needed. */
  readonly tunnel: Tunnel | undefined;
  /** Why pods of some nodes cannot be reached. */
  readonly problems: readonly string[];
}

/** What VXLAN puts in front of a packet, by the family of its ends: addresses of both networks, UDP, its own head. */
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
    // Another node of this machine is reached already.
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
        // Before it has its range there are no pods here, and nobody to be told.
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

/** Over IPv4 where the machine has an address of it: a tunnel has ends of one family, and carries both. */
function tunnelEnds(
  nodes: readonly PodNode[],
  own: ReadonlySet<string>,
  outer: readonly LinkAddress[],
): Omit<Tunnel, 'peers'> | undefined {
  const ownNodes = nodes.filter(({ name }) => own.has(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const family of [4, 6] as const) {
    for (const { addresses, podCIDRs } of ownNodes) {
      const found = outer.find(({ address }) => ipFamily(address) === family && addresses.includes(address));
      if (podCIDRs.length === 0 || found === undefined) continue;
      const { address: local, link, mtu } = found;
      const range = podCIDRs.find((cidr) => parseCIDR(cidr)?.family === 4);
      // The first address of the range is no pod's, and no bridge's.
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

/** Of the locally administered ones, with the four bytes of the node's address, or of a hash of one of IPv6. */
function macOf(address: string): string {
  const whole = ipBytes(address) ?? new Uint8Array(16);
  const bytes = ipFamily(address) === 4 ? whole.slice(12) : createHash('sha256').update(whole).digest().subarray(0, 4);
  return ['0a', '6f', ...Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))].join(':');
}
