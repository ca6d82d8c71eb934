/** Where the etcd of a server listens for the others. */
import { choosePort, type ServerSettings } from '#cmd/orch/context/settings.js';

/** Those that etcd is registered with, where they are free. */
const preferred = { client: 2379, peer: 2380 };

export async function serverPorts(address: string): Promise<Pick<ServerSettings, 'clientPort' | 'peerPort'>> {
  return {
    clientPort: await choosePort(preferred.client, address, Math.random),
    peerPort: await choosePort(preferred.peer, address, Math.random),
  };
}

/** False for those of loopback, and for none. */
export function isForOthers(address: string): boolean {
  return address !== '' && !address.startsWith('127.') && address !== '::1';
}
