/** The network of the host that this process runs on. */

import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { AddressSources } from '#nodeagent/node/address.js';

/** Names of the interfaces with a default route in the text of `/proc/net/route`, in its order. Pure. */
export function defaultRoutes4(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    // Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
    const [name = '', destination, , flags = '', , , , mask] = line.trim().split(/\s+/);
    const isDefault = destination === '00000000' && mask === '00000000';
    return isDefault && isUsable(name, flags) ? [name] : [];
  });
}

/** The same for `/proc/net/ipv6_route`. */
export function defaultRoutes6(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    // destination, prefix length, source, its length, next hop, metric, references, use, flags, interface
    const [destination, length, , , , , , , flags = '', name = ''] = line.trim().split(/\s+/);
    const isDefault = /^0{32}$/.test(destination ?? '') && length === '00';
    return isDefault && isUsable(name, flags) ? [name] : [];
  });
}

/** Flags of linux/route.h. */
const up = 0x1;
const reject = 0x200;

function isUsable(name: string, flags: string): boolean {
  const bits = Number.parseInt(flags, 16);
  return name !== 'lo' && (bits & up) !== 0 && (bits & reject) === 0;
}

export const hostNetwork: AddressSources = {
  interfaces: networkInterfaces,
  async lookup(name) {
    try {
      return (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address);
    } catch {
      // As in 1.24, unknown names fall back to the interfaces.
      return [];
    }
  },
  async defaultRoutes(family) {
    return family === 'IPv4'
      ? defaultRoutes4(await readRouteTable('/proc/net/route'))
      : defaultRoutes6(await readRouteTable('/proc/net/ipv6_route'));
  },
};

/** Empty if the kernel lacks that family, or is not Linux. */
async function readRouteTable(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
