/**
 * The cluster's own etcd, with TLS in both directions: one member on loopback or, where there are several servers, one of
 * their members.
 */
import type { Clock } from '#apimachinery/clock.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import { Child } from '#cmd/orch/process/child.js';
import type { Logger } from '#daemon/log/logger.js';

/** A member that others reach. */
export interface EtcdServer {
  readonly name: string;
  /** At which they do: it stays. */
  readonly address: string;
  readonly clientPort: number;
  readonly peerPort: number;
}

export interface EtcdSettings {
  /** Of loopback. */
  readonly etcdClientPort: number;
  /** Of a member that is the only one, at loopback. */
  readonly etcdPeerPort: number;
  readonly server?: EtcdServer;
}

export interface EtcdArguments {
  readonly dataDir: string;
  readonly settings: EtcdSettings;
  /** Of its metrics, and nothing else, on loopback. */
  readonly metricsPort: number;
  readonly tls: { readonly caFile: string; readonly certFile: string; readonly keyFile: string };
  /** All members, `name=url`, of a cluster that this one joins; undefined: it is the first, or has been a member before. */
  readonly initialCluster: readonly string[] | undefined;
}

export interface EtcdOptions extends Pick<EtcdArguments, 'dataDir' | 'tls' | 'initialCluster'> {
  /** Asked for at each start. */
  readonly settings: () => EtcdSettings;
  /** The same: a port that somebody has taken meanwhile would end etcd again and again. */
  readonly metricsPort: () => Promise<number>;
  readonly runDir: string;
  readonly logFile: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Bytes after which etcd refuses writes; its own default of 2 GiB is small for a busy cluster. */
export const etcdQuotaBytes = 8 * 1024 ** 3;

export function etcdEndpoint(clientPort: number): string {
  return `https://127.0.0.1:${clientPort}`;
}

export function etcdPeerURL(peerPort: number): string {
  return `https://127.0.0.1:${peerPort}`;
}

/** Name of a member that is the only one. */
export const etcdMember = 'default';

/** Where the clients of other servers reach a member. */
export function serverEtcdEndpoint({ address, clientPort }: EtcdServer): string {
  return `https://${hostPort(address, clientPort)}`;
}

/** Where the other members reach it. */
export function serverPeerURL({ address, peerPort }: EtcdServer): string {
  return `https://${hostPort(address, peerPort)}`;
}

/**
 * A single member on loopback needs no patience: it leads as soon as the election timeout passes. Between machines the
 * values are those that etcd recommends for one network: a leader that is gone is replaced within two seconds. ms.
 */
const aloneMs = { heartbeat: 50, election: 250 };
const amongOthersMs = { heartbeat: 100, election: 1000 };

/** Pure. */
export function etcdArguments({ dataDir, settings, tls, initialCluster, metricsPort }: EtcdArguments): string[] {
  const { etcdClientPort, etcdPeerPort, server } = settings;
  const local = etcdEndpoint(etcdClientPort);
  const name = server?.name ?? etcdMember;
  const client = server === undefined ? local : serverEtcdEndpoint(server);
  const peer = server === undefined ? etcdPeerURL(etcdPeerPort) : serverPeerURL(server);
  const times = server === undefined ? aloneMs : amongOthersMs;
  const args = {
    name,
    'data-dir': dataDir,
    'listen-client-urls': [...new Set([local, client])].join(','),
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': (initialCluster ?? [`${name}=${peer}`]).join(','),
    'initial-cluster-state': initialCluster === undefined ? 'new' : 'existing',
    'listen-metrics-urls': `http://127.0.0.1:${metricsPort}`,
    'client-cert-auth': 'true',
    'trusted-ca-file': tls.caFile,
    'cert-file': tls.certFile,
    'key-file': tls.keyFile,
    'peer-client-cert-auth': 'true',
    'peer-trusted-ca-file': tls.caFile,
    'peer-cert-file': tls.certFile,
    'peer-key-file': tls.keyFile,
    'heartbeat-interval': String(times.heartbeat),
    'election-timeout': String(times.election),
    'quota-backend-bytes': String(etcdQuotaBytes),
    'snapshot-count': '10000',
    logger: 'zap',
    'log-outputs': 'stderr',
  };
  return Object.entries(args).map(([option, value]) => `--${option}=${value}`);
}

export function etcdChild(options: EtcdOptions): Child {
  const { dataDir, tls, initialCluster, metricsPort, settings } = options;
  return new Child({
    name: 'etcd',
    command: 'etcd',
    args: async () =>
      etcdArguments({ dataDir, tls, initialCluster, metricsPort: await metricsPort(), settings: settings() }),
    // Where etcd does not know the processor it refuses to start unless told its name.
    env: process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {},
    runDir: options.runDir,
    logFile: options.logFile,
    clock: options.clock,
    log: options.log,
  });
}
