/** The network of the host that this process runs on. */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { AddressSources } from '#nodeagent/node/address.js';
import { defaultRoutes4, defaultRoutes6 } from '#nodeagent/node/default-routes.js';

export const hostNetwork: AddressSources = {
  interfaces: networkInterfaces,
  async lookup(name) {
    try {
      return (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address);
    } catch {
      // 1.24 goes on likewise: the interfaces tell then.
      return [];
    }
  },
  async defaultRoutes(family) {
    return family === 'IPv4'
      ? defaultRoutes4(await tableOf('/proc/net/route'))
      : defaultRoutes6(await tableOf('/proc/net/ipv6_route'));
  },
};

/** Empty where the kernel lacks that family, or is none of Linux. */
async function tableOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
