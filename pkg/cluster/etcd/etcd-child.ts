/** The cluster's own etcd, with TLS in both directions: a single member on loopback, or one of several servers' members. */
import type { Clock } from '#apimachinery/clock.js';
import {
  type EtcdSettings,
  etcdEndpoint,
  etcdMember,
  etcdPeerURL,
  serverEtcdEndpoint,
  serverPeerURL,
} from '#cluster/config/etcd-member.js';
import { Child } from '#cluster/process/child.js';
import type { Logger } from '#daemon/log/logger.js';

export interface EtcdArguments {
  readonly dataDir: string;
  readonly settings: EtcdSettings;
  /** Loopback port that serves metrics only. */
  readonly metricsPort: number;
  readonly tls: { readonly caFile: string; readonly certFile: string; readonly keyFile: string };
  /** All members, `name=url`, of the cluster to join; undefined for the first member, and for one that joined before. */
  readonly initialCluster: readonly string[] | undefined;
}

export interface EtcdOptions extends Pick<EtcdArguments, 'dataDir' | 'tls' | 'initialCluster'> {
  /** Read at each start. */
  readonly settings: () => EtcdSettings;
  /** Chosen at each start: another program may have bound the last one, and etcd would exit again and again. */
  readonly metricsPort: () => Promise<number>;
  /** Called with the options of each start. */
  readonly onStart?: (args: readonly string[]) => void;
  readonly runDir: string;
  readonly logFile: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Bytes after which etcd refuses writes; its own default of 2 GiB is small for a busy cluster. */
export const etcdQuotaBytes = 8 * 1024 ** 3;

/**
 * Heartbeat interval and election timeout, ms. A single member leads as soon as the election timeout passes. Between
 * machines these are etcd's recommended values for one network: a lost leader is replaced within two seconds.
 */
const singleMemberMs = { heartbeat: 50, election: 250 };
const severalMembersMs = { heartbeat: 100, election: 1000 };

/** Pure. */
export function etcdArguments({ dataDir, settings, tls, initialCluster, metricsPort }: EtcdArguments): string[] {
  const { etcdClientPort, etcdPeerPort, server } = settings;
  const local = etcdEndpoint(etcdClientPort);
  const name = server?.name ?? etcdMember;
  const client = server === undefined ? local : serverEtcdEndpoint(server);
  const peer = server === undefined ? etcdPeerURL(etcdPeerPort) : serverPeerURL(server);
  const times = server === undefined ? singleMemberMs : severalMembersMs;
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
    args: async () => {
      const args = etcdArguments({
        dataDir,
        tls,
        initialCluster,
        metricsPort: await metricsPort(),
        settings: settings(),
      });
      options.onStart?.(args);
      return args;
    },
    // etcd refuses to start on a processor that it does not support, unless its name is given.
    env: process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {},
    runDir: options.runDir,
    logFile: options.logFile,
    clock: options.clock,
    log: options.log,
  });
}
