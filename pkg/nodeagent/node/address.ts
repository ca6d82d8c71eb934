/**
 * Selects the node's addresses as release 1.24 does (pkg/kubelet/nodestatus, NodeAddress): those of the options; else
 * the host name, if it is an address; else the first address of the host name that an interface has; else that of the
 * interface with the default route. Where 1.24 gives up, any other interface is used, and finally loopback: other nodes
 * cannot reach it, and endpoints must not contain it.
 */
import type { NetworkInterfaceInfo } from 'node:os';
import { ipBytes } from '#apimachinery/net/ip.js';
import { type SpecialRange, specialRange } from '#apimachinery/net/special-ip.js';

export interface AddressRequest {
  /** `--node-ip`: none, one address or one of each family; `0.0.0.0` and `::` select a family. */
  readonly nodeIPs: readonly string[];
  readonly nodeName: string;
}

/** Network properties of the host. */
export interface AddressSources {
  readonly interfaces: () => NodeJS.Dict<NetworkInterfaceInfo[]>;
  /** Addresses of a name, in the resolver's order; empty for unknown names. */
  readonly lookup: (name: string) => Promise<readonly string[]>;
  /** Names of the interfaces with a default route of that family, in the kernel's order. */
  readonly defaultRoutes: (family: IPFamily) => Promise<readonly string[]>;
}

export type IPFamily = 'IPv4' | 'IPv6';

export interface NodeAddresses {
  /** The first is the one that pods see as the node's; there is at least one. */
  readonly addresses: readonly string[];
  /** A problem with the addresses that does not prevent their use. */
  readonly warning?: string;
}

/** Container bridges and veth pairs are not reachable from other machines. */
const containerInterfaces = /^(cni|docker|veth|br-|virbr|flannel|cali)/;

/** Rejects with an Error if an address of `--node-ip` cannot be the node's. */
export async function findNodeAddresses(request: AddressRequest, sources: AddressSources): Promise<NodeAddresses> {
  const { nodeIPs, nodeName } = request;
  const interfaces = sources.interfaces();
  const [first = ''] = nodeIPs;
  if (first !== '' && specialRange(first) !== 'unspecified') {
    // 1.24 rejects loopback; here it makes a node that only this machine can reach.
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
  const address =
    inFamily(usable, preferred) ??
    usable[0] ??
    (await addressOfDefaultRoute(preferred, interfaces, sources)) ??
    addressOfAnyInterface(preferred, interfaces);
  if (address !== undefined) return { addresses: [address] };
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

/** Why an address cannot be the node's, in 1.24's texts; undefined if it can. */
function addressProblem(address: string, interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>): string | undefined {
  const bytes = ipBytes(address);
  if (bytes === undefined) return 'nodeIP must be a valid IP address';
  const refusal = refusals[specialRange(address) ?? 'broadcast'];
  if (refusal !== undefined) return refusal;
  const same = (other: string) => ipBytes(other)?.every((byte, i) => byte === bytes[i]) === true;
  const own = Object.values(interfaces).some((all) => all?.some((each) => same(each.address)));
  return own ? undefined : `node IP: "${address}" not found in the host's network interfaces`;
}

async function addressOfDefaultRoute(
  preferred: IPFamily,
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>,
  sources: AddressSources,
): Promise<string | undefined> {
  for (const family of families(preferred)) {
    for (const name of await sources.defaultRoutes(family)) {
      const address = inFamily(globalAddresses(interfaces[name]), family);
      if (address !== undefined) return address;
    }
  }
  return undefined;
}

function addressOfAnyInterface(
  preferred: IPFamily,
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>,
): string | undefined {
  const all = Object.entries(interfaces)
    .filter(([name]) => !containerInterfaces.test(name))
    .flatMap(([, addresses]) => globalAddresses(addresses));
  return inFamily(all, preferred) ?? all[0];
}

/** Addresses that other machines may reach. */
function globalAddresses(all: readonly NetworkInterfaceInfo[] = []): string[] {
  return all.map(({ address }) => address).filter((address) => specialRange(address) === undefined);
}

function families(preferred: IPFamily): IPFamily[] {
  return preferred === 'IPv6' ? ['IPv6', 'IPv4'] : ['IPv4', 'IPv6'];
}

function inFamily(all: readonly string[], family: IPFamily): string | undefined {
  return all.find((address) => address.includes(':') === (family === 'IPv6'));
}
