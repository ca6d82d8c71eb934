/** Manages addresses on the machine's network interfaces with iproute2's `ip` program. */
import { messageOf } from '#apimachinery/errors/message.js';
import { canonicalAddress, ipFamily } from '#apimachinery/net/ip.js';

/** Runs a program; resolves with its output, rejects with its error. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<string>;

/** Writes a kernel setting, by its path below `/proc/sys`. */
export type WriteSetting = (path: string, value: string) => Promise<void>;

export interface LinksOptions {
  readonly run: RunProgram;
  readonly set: WriteSetting;
  /** Absent: for each address the interface on its route. */
  readonly interface?: string;
}

interface Link {
  readonly ifname?: string;
  readonly address?: string;
  readonly addr_info?: readonly {
    readonly local?: string;
    readonly prefixlen?: number;
    readonly valid_life_time?: number;
  }[];
}

export class Links {
  readonly #options: LinksOptions;

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  /**
   * Adds the address to an interface with a lifetime in seconds, or renews it; the kernel removes it at the end of its
   * lifetime. True if it was not there before. The address is not used as a source of the machine's own traffic.
   */
  async add(address: string, seconds: number): Promise<boolean> {
    const present = await this.#interfaceWith(address);
    const name = present ?? this.#options.interface ?? (await this.#interfaceTo(address));
    await this.#ip(['address', 'replace', hostPrefix(address), 'dev', name, ...lifetime(seconds), ...flags(address)]);
    return present === undefined;
  }

  /** Removes the address; does nothing if it is not there. */
  async remove(address: string): Promise<void> {
    const name = await this.#interfaceWith(address);
    if (name !== undefined) await this.#ip(['address', 'del', hostPrefix(address), 'dev', name]);
  }

  /**
   * Tells neighbours that these addresses are here now, by gratuitous ARP and unsolicited neighbour advertisements. The
   * kernel sends them for all addresses of an interface when its hardware address is set, even to the same value; that
   * needs neither a raw socket nor another program.
   */
  async announce(addresses: readonly string[]): Promise<void> {
    const names = new Set<string>();
    for (const address of addresses) {
      const name = await this.#interfaceWith(address);
      if (name !== undefined) names.add(name);
    }
    for (const name of names) {
      await this.#options.set(`net/ipv4/conf/${name}/arp_notify`, '1');
      await this.#setIfExists(`net/ipv6/conf/${name}/ndisc_notify`);
      const [link] = await this.#links(['link', 'show', 'dev', name]);
      const hardware = link?.address;
      if (hardware !== undefined) await this.#ip(['link', 'set', 'dev', name, 'address', hardware]);
    }
  }

  /** Ignores missing settings, since kernels may lack IPv6. */
  async #setIfExists(path: string): Promise<void> {
    try {
      await this.#options.set(path, '1');
    } catch (error) {
      if (!messageOf(error).includes('ENOENT')) throw error;
    }
  }

  async #interfaceWith(address: string): Promise<string | undefined> {
    const links = await this.#links(['address', 'show', 'to', hostPrefix(address)]);
    const matches = ({ local = '' }: { local?: string }) => canonicalAddress(local) === address;
    return links.find(({ addr_info = [] }) => addr_info.some(matches))?.ifname;
  }

  async #interfaceTo(address: string): Promise<string> {
    const [route] = JSON.parse(await this.#ip(['-j', 'route', 'get', address])) as { dev?: string }[];
    if (route?.dev === undefined || route.dev === 'lo') throw new Error(`no route to ${address}`);
    return route.dev;
  }

  async #links(args: readonly string[]): Promise<Link[]> {
    const text = await this.#ip(['-j', ...args]);
    return text.trim() === '' ? [] : (JSON.parse(text) as Link[]);
  }

  #ip(args: readonly string[]): Promise<string> {
    return this.#options.run('ip', args);
  }
}

const hostPrefix = (address: string): string => `${address}/${ipFamily(address) === 4 ? 32 : 128}`;

const lifetime = (seconds: number): string[] => ['valid_lft', String(seconds), 'preferred_lft', '0'];

/** No duplicate address detection: the previous node may still have the address, but the cluster has decided. */
const flags = (address: string): string[] => (ipFamily(address) === 4 ? ['noprefixroute'] : ['noprefixroute', 'nodad']);
