/** What a cluster was created with. Written once, so that the next start finds the same cluster. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { DialectName } from '#apimachinery/dialect.js';
import { claimName } from '#cmd/orch/process/claim.js';
import type { EtcdServer, EtcdSettings } from '#cmd/orch/process/etcd.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';

export type RuntimeName = 'containerd' | 'simulated';
export type StoreName = 'etcd' | 'memory';

export interface ClusterSettings extends EtcdSettings {
  readonly dialect: DialectName;
  readonly runtime: RuntimeName;
  readonly store: StoreName;
  readonly nodes: readonly string[];
  /** Port of the API server. */
  readonly apiPort: number;
  /** One range, or one of each family with a comma between. */
  readonly serviceRange: string;
  /** Each node gets one /24 of it. A range of IPv6 may follow after a comma, of which each gets a /64. */
  readonly podRange: string;
  /** Of a machine that is a node of somebody else's cluster. */
  readonly joined?: JoinedCluster;
  /** Of a machine that is one of several servers of its cluster, or open to others. */
  readonly server?: ServerSettings;
}

/** Its name is that of its node, too. */
export interface ServerSettings extends EtcdServer {
  /** Absent: it was the first. */
  readonly joined?: JoinedServers;
}

export interface JoinedCluster {
  /** Of its API server: `https://host:port`. */
  readonly server: string;
  /** Of this machine, as they were asked for; none: the machine's. */
  readonly nodeIPs: readonly string[];
  /** Who answers the pods' questions about names: `built-in`, `none`, or an address. */
  readonly clusterDns: string;
  /** What leads services to their pods: `built-in`, or `none`. */
  readonly serviceProxy: string;
}

/** What a server has joined as one more. */
export interface JoinedServers extends JoinedCluster {
  /** Where clients reach the members of etcd that were there before. */
  readonly etcd: readonly string[];
}

/** What the machine has joined, as a node or as a server; undefined: its cluster is its own. */
export function joinedOf(settings: ClusterSettings | undefined): JoinedCluster | undefined {
  return settings?.joined ?? settings?.server?.joined;
}

export function readSettings(file: string): ClusterSettings | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return JSON.parse(text) as ClusterSettings;
}

export function writeSettings(file: string, settings: ClusterSettings): void {
  replaceFile(file, `${JSON.stringify(settings, null, 2)}\n`);
}

/** True when a listener can have the port on this address. */
export function portIsFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * Below the ports of services, and those that systems give to outgoing connections, which would take one while its
 * listener restarts.
 */
const listeningPorts = { first: 20_000, count: 10_000 };

/**
 * A port that is free, and that nobody picks in this way again while this process runs: its listener may need some time
 * until it takes it, and several clusters may start at once.
 * @param random Uniform in [0, 1).
 */
export async function randomPort(host: string, random: () => number): Promise<number> {
  for (;;) {
    const port = listeningPorts.first + Math.floor(random() * listeningPorts.count);
    if ((await claimName(`orch-port-${port}`)) && (await portIsFree(port, host))) return port;
  }
}

/**
 * The preferred port when it is free, else another one as `randomPort` picks it.
 * @param random Uniform in [0, 1).
 */
export async function choosePort(preferred: number, host: string, random: () => number): Promise<number> {
  return (await portIsFree(preferred, host)) ? preferred : randomPort(host, random);
}

/** A port that was free a moment ago. */
export function freePort(host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port: 0, host }, () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}
