/**
 * Chains that handle packets of services. Services with equal numbers of endpoints share a chain, so there are few, and
 * the name defines the content.
 */
import { createHash } from 'node:crypto';
import type { NftChain, NftSet } from '#proxy/nft/table.js';
import type { Family, Protocol, ProxySettings } from '#proxy/services/proxy-settings.js';

/** How packets of a service are handled. */
export interface PickedBy {
  readonly family: Family;
  readonly protocol: Protocol;
  /** Matched by address, or by port at any address of the node. */
  readonly by: 'address' | 'node-port';
  /** `local`: external clients reach endpoints of this node; pods and the node itself reach all. */
  readonly to: 'cluster' | 'external' | 'local';
  /** Number of endpoints. */
  readonly count: number;
  /** Number of endpoints on this node, for `local`. */
  readonly localCount?: number;
  /** For session affinity: name of the map that remembers clients. */
  readonly affinity?: string | undefined;
}

/** First slot of endpoints on this node. */
export const firstLocalSlot = 65_536;

const digit = (family: Family): '4' | '6' => (family === 'IPv4' ? '4' : '6');

/** Name of a family's set or map: `services4`. */
export function familyName(name: string, family: Family): string {
  return `${name}${digit(family)}`;
}

/**
 * Name of the map of endpoints, one per protocol: nft 1.0 has no data type for ports of any protocol, and checks a
 * packet's protocol for a specific one.
 */
export function endpointsMap(by: PickedBy['by'], family: Family, protocol: Protocol): string {
  return `${familyName(by === 'address' ? 'endpoints' : 'node-port-endpoints', family)}-${protocol.toLowerCase()}`;
}

const header = (family: Family): 'ip' | 'ip6' => (family === 'IPv4' ? 'ip' : 'ip6');

const setMark = ({ masqueradeBit }: ProxySettings): string =>
  `meta mark set meta mark | 0x${(2 ** masqueradeBit).toString(16).padStart(8, '0')}`;

/** The pick's chain, followed by chains that it refers to. */
export function pickChains(pick: PickedBy, settings: ProxySettings): [NftChain, ...NftChain[]] {
  const name = chainName(pick);
  const cidr = settings.clusterCIDRs[pick.family];
  const ip = header(pick.family);
  if (pick.to !== 'local') return [{ name, rules: [...sourceRules(pick, settings), ...choice(pick, pick.count)] }];
  const everywhere = (to: 'cluster' | 'external') => pickChains({ ...without(pick), to }, settings)[0];
  const fromPods = everywhere('cluster');
  const fromNode = everywhere('external');
  const { localCount = 0 } = pick;
  const rules = [
    // Clients in the cluster reach all endpoints: no load balancer has chosen this node for them.
    ...(cidr === undefined || pick.count === 0 ? [] : [`${ip} saddr ${cidr} goto ${fromPods.name}`]),
    ...(pick.count === 0 ? [] : [`fib saddr type local goto ${fromNode.name}`]),
    ...(localCount === 0 ? ['drop'] : choice(pick, localCount, firstLocalSlot)),
  ];
  return [{ name, rules }, ...(pick.count === 0 ? [] : [fromPods, fromNode])];
}

function without({ localCount: _, ...pick }: PickedBy): PickedBy {
  return pick;
}

function chainName({ affinity, by, count, family, localCount, protocol, to }: PickedBy): string {
  const start = by === 'address' ? to : `node-port-${to}`;
  const local = localCount === undefined ? '' : `-${localCount}`;
  return `${familyName(start, family)}-${protocol.toLowerCase()}-${count}${local}${affinity === undefined ? '' : `-${affinity}`}`;
}

function sourceRules(pick: PickedBy, settings: ProxySettings): string[] {
  const mark = setMark(settings);
  if (pick.to === 'external') return [mark];
  const ip = header(pick.family);
  const cidr = settings.clusterCIDRs[pick.family];
  const refused =
    settings.isClusterIPInternal && cidr !== undefined ? [`${ip} saddr != ${cidr} fib saddr type != local return`] : [];
  if (settings.masqueradeAll) return [...refused, mark];
  return cidr === undefined ? [] : [...refused, `${ip} saddr != ${cidr} ${mark}`];
}

/** Chooses an endpoint by a random slot. */
function choice({ affinity, by, family, protocol }: PickedBy, count: number, offset = 0): string[] {
  const ip = header(family);
  const key = by === 'address' ? `${ip} daddr . meta l4proto . th dport` : 'meta l4proto . th dport';
  const map = endpointsMap(by, family, protocol);
  const start = offset === 0 ? '' : ` offset ${offset}`;
  return [
    ...(affinity === undefined
      ? []
      : [`${ports} dnat ${ip} to ${ip} saddr map @${affinity} : ${ip} saddr map @${portsOf(affinity)}`]),
    `dnat ${ip} to ${key} . numgen random mod ${count}${start} map @${map}`,
  ];
}

/** Name of the map that remembers the clients of a service port. */
export function affinityName(family: Family, port: string): string {
  const id = createHash('sha256').update(port).digest('hex').slice(0, 12);
  return `${familyName('affinity', family)}-${id}`;
}

const maxClients = 262_144;

/** Protocols that have ports. */
const ports = 'meta l4proto { tcp, udp, sctp }';

/** Name of the map of ports beside a map of addresses: nft 1.0 cannot store both in one IPv6 map. */
export function portsOf(map: string): string {
  return `${map}-ports`;
}

/** Maps a client's address to its endpoint's address, and to its port. */
export function affinityMaps(family: Family, name: string): NftSet[] {
  const address = family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
  const map = (of: string, data: string): NftSet => ({
    name: of,
    kind: 'map',
    declaration: `type ${address} : ${data}; flags dynamic,timeout; size ${maxClients};`,
    isDynamic: true,
  });
  return [map(name, address), map(portsOf(name), 'inet_service')];
}

/** Remembers a client's endpoint until this many seconds after its last connection. */
export function rememberChain(family: Family, map: string, seconds: number): NftChain {
  const ip = header(family);
  const client = `${ip} saddr timeout ${seconds}s`;
  const rule = `update @${map} { ${client} : ${ip} daddr } update @${portsOf(map)} { ${client} : th dport }`;
  // The name contains the seconds, since equal names must have equal rules.
  return { name: `remember-${map}-${seconds}`, rules: [`${ports} ${rule}`] };
}
