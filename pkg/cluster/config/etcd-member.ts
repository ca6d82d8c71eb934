/** Names, addresses and ports of the cluster's own etcd members. */
import { hostPort } from '#apimachinery/net/host-port.js';
import { choosePort } from '#cluster/process/ports.js';

/** A member that other machines reach. */
export interface EtcdServer {
  readonly name: string;
  /** Address for the other servers; it never changes. */
  readonly address: string;
  readonly clientPort: number;
  readonly peerPort: number;
}

export interface EtcdSettings {
  /** Client port on loopback. */
  readonly etcdClientPort: number;
  /** Peer port on loopback, of a single member. */
  readonly etcdPeerPort: number;
  readonly server?: EtcdServer;
}

/** Name of a single member. */
export const etcdMember = 'default';

export function etcdEndpoint(clientPort: number): string {
  return `https://127.0.0.1:${clientPort}`;
}

export function etcdPeerURL(peerPort: number): string {
  return `https://127.0.0.1:${peerPort}`;
}

/** URL for the clients on other servers. */
export function serverEtcdEndpoint({ address, clientPort }: EtcdServer): string {
  return `https://${hostPort(address, clientPort)}`;
}

/** URL for the other members. */
export function serverPeerURL({ address, peerPort }: EtcdServer): string {
  return `https://${hostPort(address, peerPort)}`;
}

/** Ports that are registered for etcd. */
const preferred = { client: 2379, peer: 2380 };

/** The registered ports where they are free, else random ones. */
export async function serverPorts(address: string): Promise<Pick<EtcdServer, 'clientPort' | 'peerPort'>> {
  return {
    clientPort: await choosePort(preferred.client, address, Math.random),
    peerPort: await choosePort(preferred.peer, address, Math.random),
  };
}

/** False for a loopback address and for an empty one. */
export function isReachableAddress(address: string): boolean {
  return address !== '' && !address.startsWith('127.') && address !== '::1';
}
