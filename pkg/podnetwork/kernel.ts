/** Applies a plan to the kernel with ip(8), bridge(8) and iptables(8). Changes only differences, and only its own entries. */
import { blockHolds, parseCIDR } from '#apimachinery/net/ip.js';
import type { LinkAddress, NetworkPlan, PodRoute, Tunnel, TunnelPeer } from '#podnetwork/plan.js';

/** Runs a program and returns its output; rejects when it fails. */
type RunProgram = (program: string, args: readonly string[]) => Promise<string>;

export interface KernelNetworkOptions {
  readonly run: RunProgram;
  /** Ranges of the addresses of all pods of the cluster. */
  readonly ranges: readonly string[];
  /** Name of the tunnel's interface. */
  readonly tunnel: string;
}

/** Marks our routes among the machine's. */
const routeProtocol = '144';
const vxlanId = '4096';
const vxlanPort = '8472';

export class KernelNetwork {
  readonly #options: KernelNetworkOptions;

  constructor(options: KernelNetworkOptions) {
    this.#options = options;
  }

  /** Addresses of the machine's interfaces that are up. */
  async links(): Promise<LinkAddress[]> {
    return parseAddresses(await this.#ip('-json', 'address', 'show', 'up'));
  }

  /** Rejects with the programs' errors. */
  async apply({ routes, tunnel }: NetworkPlan): Promise<void> {
    if (routes.length > 0) await this.#keepSources();
    if (tunnel !== undefined) await this.#applyTunnel(tunnel);
    for (const family of ['-4', '-6'] as const) await this.#applyRoutes(family, routes);
    if (tunnel === undefined) await this.#removeTunnel();
  }

  /** Removes all routes, rules and the tunnel. */
  async remove(): Promise<void> {
    for (const family of ['-4', '-6'] as const) await this.#applyRoutes(family, []);
    await this.#removeTunnel();
    for (const range of this.#options.ranges) {
      while (await this.#sourceRule('--delete', range));
    }
  }

  async #applyRoutes(family: '-4' | '-6', routes: readonly PodRoute[]): Promise<void> {
    const isOfFamily = ({ destination }: PodRoute) => destination.includes(':') === (family === '-6');
    const pending = new Map(routes.filter(isOfFamily).map((route) => [route.destination, route]));
    const text = await this.#ip('-json', family, 'route', 'show', 'proto', routeProtocol);
    const existing = parseRoutes(text).filter(({ destination }) => this.#isOfCluster(destination));
    for (const { destination, via, link } of existing) {
      const route = pending.get(destination);
      if (route?.via === via && route.link === link) pending.delete(destination);
      else if (route === undefined) await this.#ip(family, 'route', 'delete', destination, 'proto', routeProtocol);
    }
    for (const { destination, via, link, onlink } of pending.values()) {
      const more = onlink ? ['onlink'] : [];
      await this.#ip(family, 'route', 'replace', destination, 'via', via, 'dev', link, 'proto', routeProtocol, ...more);
    }
  }

  #isOfCluster(destination: string): boolean {
    const inner = parseCIDR(destination);
    return (
      inner !== undefined &&
      this.#options.ranges.some((range) => {
        const block = parseCIDR(range);
        return block !== undefined && blockHolds(block, inner);
      })
    );
  }

  async #applyTunnel({ address, link, local, mac, mtu, peers }: Tunnel): Promise<void> {
    const { tunnel } = this.#options;
    const existing = parseTunnel(await this.#ip('-json', '-details', 'link', 'show', 'type', 'vxlan'), tunnel);
    if (existing !== undefined && (existing.local !== local || existing.link !== link)) await this.#removeTunnel();
    if (existing?.local !== local || existing.link !== link) {
      const kind = ['type', 'vxlan', 'id', vxlanId, 'local', local, 'dev', link, 'dstport', vxlanPort, 'nolearning'];
      // The carried packets have checksums of their own, and address translation on the path breaks the tunnel's checksums
      // while the hardware computes the inner ones. IPv6 requires them.
      if (!local.includes(':')) kind.push('noudpcsum');
      await this.#ip('link', 'add', tunnel, 'address', mac, 'mtu', String(mtu), ...kind);
    } else if (existing.mtu !== mtu) await this.#ip('link', 'set', tunnel, 'mtu', String(mtu));
    if (address !== undefined) await this.#ip('address', 'replace', `${address}/32`, 'dev', tunnel);
    await this.#ip('link', 'set', tunnel, 'up');
    for (const family of ['-4', '-6'] as const) await this.#applyNeighbours(family, peers);
    const forwarded = parseForwarding(await this.#bridge('-json', 'fdb', 'show', 'dev', tunnel));
    for (const { mac: peerMac, remote } of peers) {
      if (forwarded.get(peerMac) !== remote)
        await this.#bridge('fdb', 'replace', peerMac, 'dev', tunnel, 'dst', remote);
    }
    const remotes = new Set(peers.map(({ remote }) => remote));
    for (const [goneMac, gone] of forwarded)
      if (!remotes.has(gone)) await this.#bridge('fdb', 'delete', goneMac, 'dev', tunnel, 'dst', gone);
  }

  /** Sets the hardware addresses of the gateways at the other ends of the tunnel. */
  async #applyNeighbours(family: '-4' | '-6', peers: readonly TunnelPeer[]): Promise<void> {
    const { tunnel } = this.#options;
    const text = await this.#ip('-json', family, 'neighbour', 'show', 'dev', tunnel, 'nud', 'permanent');
    const existing = parseNeighbours(text);
    const desired = new Map(
      peers.flatMap(({ gateways, mac }) =>
        gateways.filter((each) => each.includes(':') === (family === '-6')).map((gateway) => [gateway, mac] as const),
      ),
    );
    for (const [gateway, mac] of desired) {
      if (existing.get(gateway) === mac) continue;
      await this.#ip('neighbour', 'replace', gateway, 'lladdr', mac, 'dev', tunnel, 'nud', 'permanent');
    }
    for (const [gone] of existing) if (!desired.has(gone)) await this.#ip('neighbour', 'delete', gone, 'dev', tunnel);
  }

  async #removeTunnel(): Promise<void> {
    const { tunnel } = this.#options;
    const text = await this.#ip('-json', '-details', 'link', 'show', 'type', 'vxlan');
    if (parseTunnel(text, tunnel) !== undefined) await this.#ip('link', 'delete', tunnel);
  }

  /** Exempts traffic between pods from the masquerading rules of the pods' network, which come after this rule. */
  async #keepSources(): Promise<void> {
    for (const range of this.#options.ranges) {
      if (await this.#sourceRule('--check', range)) continue;
      await this.#sourceRule('--insert', range);
    }
  }

  /** False when there is no such rule. */
  async #sourceRule(action: '--check' | '--insert' | '--delete', range: string): Promise<boolean> {
    const program = range.includes(':') ? 'ip6tables' : 'iptables';
    const rule = ['--source', range, '--destination', range, ...notFromHostPorts, '--jump', 'ACCEPT'];
    try {
      await this.#options.run(program, ['--wait', '--table', 'nat', action, 'POSTROUTING', ...rule]);
      return true;
    } catch (error) {
      if (action !== '--insert' && exitCode(error) === noSuchRule) return false;
      throw error;
    }
  }

  #ip(...args: string[]): Promise<string> {
    return this.#options.run('ip', args);
  }

  #bridge(...args: string[]): Promise<string> {
    return this.#options.run('bridge', args);
  }
}

/** Packets of a pod to itself by a host port must be masqueraded; the plugin marks them. */
const notFromHostPorts = ['--match', 'mark', '!', '--mark', '0x2000/0x2000'];

/** Exit code of iptables. */
const noSuchRule = 1;

function exitCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Parses JSON output, which may be empty. Throws SyntaxError. */
function items<T>(text: string): T[] {
  // Some versions of ip print empty objects for filtered entries.
  return text.trim() === '' ? [] : (JSON.parse(text) as T[]);
}

interface ShownLink {
  readonly ifname?: string;
  readonly mtu?: number;
  readonly link?: string;
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number; readonly scope?: string }[];
  readonly linkinfo?: { readonly info_data?: { local?: string; local6?: string; link?: string } };
}

function parseAddresses(text: string): LinkAddress[] {
  return items<ShownLink>(text).flatMap(({ ifname: link = '', mtu = 1500, addr_info: addresses = [] }) =>
    addresses.flatMap(({ local: address = '', prefixlen: prefix = 32, scope }) =>
      scope === 'global' ? { link, address, prefix, mtu } : [],
    ),
  );
}

function parseRoutes(text: string): Omit<PodRoute, 'onlink'>[] {
  return items<{ dst?: string; gateway?: string; dev?: string }>(text).flatMap(({ dst, gateway = '', dev = '' }) =>
    dst === undefined ? [] : { destination: dst, via: gateway, link: dev },
  );
}

function parseTunnel(text: string, name: string) {
  const entry = items<ShownLink>(text).find(({ ifname }) => ifname === name);
  const { local, local6, link } = entry?.linkinfo?.info_data ?? {};
  return entry === undefined ? undefined : { mtu: entry.mtu, local: local ?? local6, link };
}

/** Hardware addresses by addresses of neighbours. */
function parseNeighbours(text: string): Map<string, string> {
  const entries = items<{ dst?: string; lladdr?: string }>(text);
  return new Map(entries.flatMap(({ dst, lladdr }) => (dst && lladdr ? [[dst, lladdr] as const] : [])));
}

/** Addresses of nodes by hardware addresses. */
function parseForwarding(text: string): Map<string, string> {
  const entries = items<{ mac?: string; dst?: string }>(text);
  return new Map(entries.flatMap(({ mac, dst }) => (mac && dst ? [[mac, dst] as const] : [])));
}
