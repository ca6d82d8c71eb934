/** The certificates that a node agent requests from the cluster, and their metrics. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { TimedKeyCertificate } from '#client/certificate/key-certificate.js';
import { CertificateManager } from '#client/certificate/manager.js';
import { CertificateStore } from '#client/certificate/store.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import { counter, gauge, histogram } from '#daemon/metrics/metric.js';
import type { KeyCertificate } from '#pki/certificate.js';

export interface NodeCertificateOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics?: Registry | undefined;
  readonly nodeName: string;
  /** Directory of the certificates. */
  readonly directory: string;
  /** The client for requests. */
  readonly client: (current: TimedKeyCertificate | undefined) => Client;
}

/** The store of the agent's client certificate. */
export function clientCertificateStore({ dialect, directory }: { dialect: Dialect; directory: string }) {
  return new CertificateStore(directory, `${dialect.components.nodeAgent}-client`);
}

/** Manages the agent's client certificate. */
export function clientCertificateManager(
  options: NodeCertificateOptions & { readonly rotates: boolean; readonly initial?: KeyCertificate | undefined },
): CertificateManager {
  const { dialect, metrics } = options;
  const prefix = `${dialect.components.nodeAgent}_certificate_manager_client`;
  const errors =
    metrics &&
    counter(metrics, {
      name: `${prefix}_expiration_renew_errors`,
      help: '[ALPHA] Counter of certificate renewal errors.',
    });
  const manager = new CertificateManager({
    ...options,
    store: clientCertificateStore(options),
    signerName: dialect.signers.apiServerClientNodeAgent,
    usages: ['digital signature', 'key encipherment', 'client auth'],
    template: () => ({ subject: subjectOf(options), dns: [], ips: [] }),
    onFailure: () => errors?.inc(),
  });
  const help =
    "[ALPHA] Gauge of the TTL (time-to-live) of the agent's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.";
  observeTtl(options, { name: `${prefix}_ttl_seconds`, help, manager });
  return manager;
}

/** Manages the agent's serving certificate. `addresses`: names and addresses of the node; undefined while unknown. */
export function servingCertificateManager(
  options: NodeCertificateOptions & { readonly addresses: () => readonly string[] | undefined },
): CertificateManager {
  const { addresses, dialect, metrics } = options;
  const prefix = dialect.components.nodeAgent;
  const errors =
    metrics &&
    counter(metrics, {
      name: `${prefix}_server_expiration_renew_errors`,
      help: '[ALPHA] Counter of certificate renewal errors.',
    });
  const lived =
    metrics &&
    histogram(metrics, {
      name: `${prefix}_certificate_manager_server_rotation_seconds`,
      help: '[ALPHA] Histogram of the number of seconds the previous certificate lived before being rotated.',
      buckets: [60, 3600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000],
    });
  const manager = new CertificateManager({
    ...options,
    store: new CertificateStore(options.directory, `${prefix}-server`),
    signerName: dialect.signers.nodeAgentServing,
    usages: ['digital signature', 'key encipherment', 'server auth'],
    rotates: true,
    template() {
      const names = addresses() ?? [];
      if (names.length === 0) return undefined;
      const ips = names.filter((address) => ipFamily(address) !== 0);
      return { subject: subjectOf(options), dns: names.filter((each) => !ips.includes(each)), ips };
    },
    onFailure: () => errors?.inc(),
    onRenewed: (livedMs) => {
      if (livedMs !== undefined) lived?.observe(livedMs / 1000);
    },
  });
  const help =
    "[ALPHA] Gauge of the shortest TTL (time-to-live) of the agent's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.";
  observeTtl(options, { name: `${prefix}_certificate_manager_server_ttl_seconds`, help, manager });
  return manager;
}

function subjectOf({ dialect, nodeName }: Pick<NodeCertificateOptions, 'dialect' | 'nodeName'>) {
  return { commonName: `${dialect.users.nodePrefix}${nodeName}`, organizations: [dialect.groups.nodes] };
}

function observeTtl(
  { clock, metrics }: NodeCertificateOptions,
  { name, help, manager }: { name: string; help: string; manager: CertificateManager },
): void {
  if (metrics === undefined) return;
  gauge(metrics, {
    name,
    help,
    collect() {
      const { notAfter } = manager;
      this.set(notAfter === undefined ? Number.POSITIVE_INFINITY : (notAfter - clock.now()) / 1000);
    },
  });
}
