/**
 * Which addresses the node has, chosen as release 1.24 does (pkg/kubelet/nodestatus, NodeAddress): those that it is told;
 * else the host name, when it is an address; else the first address of the host name that an interface has; else that of
 * the interface with the default route. Where 1.24 gives up, any other interface is better than none, and loopback comes
 * last: other nodes cannot reach it, and endpoints must not have it.
 */
import type { NetworkInterfaceInfo } from 'node:os';
import { ipBytes } from '#apimachinery/net/ip.js';
import { type SpecialRange, specialRange } from '#apimachinery/net/special-ip.js';

export interface AddressRequest {
  /** `--node-ip`: none, one address or a pair of both families; `0.0.0.0` and `::` ask for a family. */
  readonly nodeIPs: readonly string[];
  readonly nodeName: string;
}

/** What the host knows of its network. */
export interface AddressSources {
  readonly interfaces: () => NodeJS.Dict<NetworkInterfaceInfo[]>;
  /** Addresses of a name, in the resolver's order; none for a name that it does not know. */
  readonly lookup: (name: string) => Promise<readonly string[]>;
  /** Names of the interfaces with a default route of that family, in the kernel's order. */
  readonly defaultRoutes: (family: IPFamily) => Promise<readonly string[]>;
}

export type IPFamily = 'IPv4' | 'IPv6';

export interface NodeAddresses {
  /** The first is the node's in the eyes of its pods; there is at least one. */
  readonly addresses: readonly string[];
  /** What is wrong with them all the same. */
  readonly warning?: string;
}

/** Bridges and pairs of containers are not how others reach the machine. */
const ofContainers = /^(cni|docker|veth|br-|virbr|flannel|cali)/;

/** Rejects with an Error that says why an address of `--node-ip` cannot be the node's. */
export async function findNodeAddresses(request: AddressRequest, sources: AddressSources): Promise<NodeAddresses> {
  const { nodeIPs, nodeName } = request;
  const interfaces = sources.interfaces();
  const [first = ''] = nodeIPs;
  if (first !== '' && specialRange(first) !== 'unspecified') {
    // 1.24 takes no loopback address; here it makes a node for this machine alone.
    if (specialRange(first) === 'loopback') return { addresses: nodeIPs, warning: loopbackWarning(first) };
    for (const address of nodeIPs) {
      const problem = addressProblem(address, interfaces);
      if (problem !== undefined) throw new Error(`failed to validate nodeIP: ${problem}`);
    }
    return { addresses: nodeIPs };
  }
  if (ipBytes(nodeName) !== undefined) return { addresses: [nodeName] };
  const preferred: IPFamily = first.includes(':') ? 'IPv6' : 'IPv4';
  const usable = (await sources.lookup(nodeName)).filter(
    (address) => addressProblem(address, interfaces) === undefined,
  );
  const found =
    inFamily(usable, preferred) ??
    usable[0] ??
    (await ofDefaultRoute(preferred, interfaces, sources)) ??
    ofAnyInterface(preferred, interfaces);
  if (found !== undefined) return { addresses: [found] };
  const loopback = preferred === 'IPv6' ? '::1' : '127.0.0.1';
  return { addresses: [loopback], warning: `no interface has an address but loopback; ${loopbackWarning(loopback)}` };
}

function loopbackWarning(address: string): string {
  return `the node's address is ${address}: other machines cannot reach it, and Services of pods in the host's network get no endpoints`;
}

const refusals: { readonly [range in SpecialRange]?: string } = {
  loopback: "nodeIP can't be loopback address",
  linkLocal: "nodeIP can't be a link-local unicast address",
  linkLocalMulticast: "nodeIP can't be a multicast address",
  otherMulticast: "nodeIP can't be a multicast address",
  unspecified: "nodeIP can't be an all zeros address",
};

/** Why it cannot be the node's address, in the words of 1.24; undefined when it can. */
function addressProblem(address: string, interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>): string | undefined {
  const bytes = ipBytes(address);
  if (bytes === undefined) return 'nodeIP must be a valid IP address';
  const refusal = refusals[specialRange(address) ?? 'broadcast'];
  if (refusal !== undefined) return refusal;
  const same = (other: string) => ipBytes(other)?.every((byte, i) => byte === bytes[i]) === true;
  const own = Object.values(interfaces).some((all) => all?.some((each) => same(each.address)));
  return own ? undefined : `node IP: "${address}" not found in the host's network interfaces`;
}

async function ofDefaultRoute(
  preferred: IPFamily,
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>,
  sources: AddressSources,
): Promise<string | undefined> {
  for (const family of families(preferred)) {
    for (const name of await sources.defaultRoutes(family)) {
      const found = inFamily(globalAddresses(interfaces[name]), family);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function ofAnyInterface(preferred: IPFamily, interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>): string | undefined {
  const all = Object.entries(interfaces)
    .filter(([name]) => !ofContainers.test(name))
    .flatMap(([, addresses]) => globalAddresses(addresses));
  return inFamily(all, preferred) ?? all[0];
}

/** Those by which others may know it. */
function globalAddresses(all: readonly NetworkInterfaceInfo[] = []): string[] {
  return all.map(({ address }) => address).filter((address) => specialRange(address) === undefined);
}

function families(preferred: IPFamily): IPFamily[] {
  return preferred === 'IPv6' ? ['IPv6', 'IPv4'] : ['IPv4', 'IPv6'];
}

function inFamily(all: readonly string[], family: IPFamily): string | undefined {
  return all.find((address) => address.includes(':') === (family === 'IPv6'));
}
