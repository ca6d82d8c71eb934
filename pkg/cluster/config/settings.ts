/** The settings of a cluster, written at its creation, so that every start runs the same cluster. */
import { readFileSync } from 'node:fs';
import type { DialectName } from '#apimachinery/dialect.js';
import type { EtcdServer, EtcdSettings } from '#cluster/config/etcd-member.js';
import { replaceFile } from '#cluster/process/replace-file.js';

export type RuntimeName = 'containerd' | 'simulated';
export type StoreName = 'etcd' | 'memory';

export interface ClusterSettings extends EtcdSettings {
  readonly dialect: DialectName;
  readonly runtime: RuntimeName;
  readonly store: StoreName;
  readonly nodes: readonly string[];
  /** Port of the API server. */
  readonly apiPort: number;
  /** One range, or one of each family, comma separated. */
  readonly serviceRange: string;
  /** Each node gets a /24 of it, and a /64 of an IPv6 range that may follow after a comma. */
  readonly podRange: string;
  /** Set on a machine that has joined a cluster as a node. */
  readonly joined?: JoinedCluster;
  /** Set on one of several servers, and on a server that is open to others. */
  readonly server?: ServerSettings;
}

/** `name` is the name of the server's node too. */
export interface ServerSettings extends EtcdServer {
  /** Absent for the first server. */
  readonly joined?: JoinedServers;
}

export interface JoinedCluster {
  /** URL of its API server: `https://host:port`. */
  readonly server: string;
  /** Addresses from `--node-ip`; none: the machine's. */
  readonly nodeIPs: readonly string[];
  /** Name server of the pods: `built-in`, `none`, or an address. */
  readonly clusterDns: string;
  /** Service proxy: `built-in`, or `none`. */
  readonly serviceProxy: string;
}

/** The cluster that a further server has joined. */
export interface JoinedServers extends JoinedCluster {
  /** Client URLs of the etcd members before it. */
  readonly etcd: readonly string[];
}

/** The cluster that the machine has joined, as a node or as a server; undefined where it was created here. */
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
