/** The cluster's own etcd: one member, on loopback, with TLS in both directions. */
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { Child } from '#cmd/orch/process/child.js';
import type { Logger } from '#daemon/log/logger.js';

export interface EtcdOptions {
  readonly dataDir: string;
  readonly runDir: string;
  readonly logFile: string;
  readonly clientPort: number;
  readonly peerPort: number;
  /** Of its metrics, and nothing else, on loopback. */
  readonly metricsPort: number;
  readonly tls: { readonly caFile: string; readonly certFile: string; readonly keyFile: string };
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

/** Name of the one member. */
export const etcdMember = 'default';

export function etcdChild(options: EtcdOptions): Child {
  const { tls } = options;
  const client = etcdEndpoint(options.clientPort);
  const peer = etcdPeerURL(options.peerPort);
  const args = {
    name: etcdMember,
    'data-dir': join(options.dataDir),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `${etcdMember}=${peer}`,
    'listen-metrics-urls': `http://127.0.0.1:${options.metricsPort}`,
    'client-cert-auth': 'true',
    'trusted-ca-file': tls.caFile,
    'cert-file': tls.certFile,
    'key-file': tls.keyFile,
    'peer-client-cert-auth': 'true',
    'peer-trusted-ca-file': tls.caFile,
    'peer-cert-file': tls.certFile,
    'peer-key-file': tls.keyFile,
    // A single member on loopback needs no patience: it leads as soon as this passes.
    'heartbeat-interval': '50',
    'election-timeout': '250',
    'quota-backend-bytes': String(etcdQuotaBytes),
    'snapshot-count': '10000',
    logger: 'zap',
    'log-outputs': 'stderr',
  };
  return new Child({
    name: 'etcd',
    command: 'etcd',
    args: () => Object.entries(args).map(([name, value]) => `--${name}=${value}`),
    // Where etcd does not know the processor it refuses to start unless told its name.
    env: process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {},
    runDir: options.runDir,
    logFile: options.logFile,
    clock: options.clock,
    log: options.log,
  });
}
