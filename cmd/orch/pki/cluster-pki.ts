/**
 * All keys and certificates of a cluster, loaded from a directory or made there. What is missing, unreadable as a
 * pair, signed by another authority, about to expire, or without a wanted name is made again; authorities and the
 * service account key are kept as long as they exist, for everything else depends on them.
 */

import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { KeyCertificate } from '#pki/certificate.js';
import {
  type CertificateTimes,
  defaultRenewBeforeMs,
  ensureAuthority,
  ensureCertificate,
  type StoredKeyCertificate,
  type Wanted,
} from '#pki/ensure.js';
import { directoryStore, type FileStore } from '#pki/file-store.js';
import { generateEcKey, generateRsaKey, keyPairFromPem, privateKeyToPem, publicKeyToPem } from '#pki/keys.js';
import { certificateTimes } from '#pki/x509.js';

export interface ServiceAccountKeys {
  /** PEM. */
  readonly privateKey: string;
  readonly publicKey: string;
  readonly privateKeyFile: string | undefined;
  readonly publicKeyFile: string | undefined;
}

export interface ClusterPki {
  /** Signs everything but the front proxy's certificate. */
  readonly authority: StoredKeyCertificate;
  /** Signs only the certificate by which the API server proves itself to extension API servers. */
  readonly frontProxyAuthority: StoredKeyCertificate;
  readonly apiServer: StoredKeyCertificate;
  /** The API server's client certificate towards node agents. */
  readonly apiServerNodeAgentClient: StoredKeyCertificate;
  readonly frontProxyClient: StoredKeyCertificate;
  /** Client certificate in `system:masters`. */
  readonly admin: StoredKeyCertificate;
  readonly controllerManager: StoredKeyCertificate;
  readonly scheduler: StoredKeyCertificate;
  /** Client certificate of whoever reads metrics. */
  readonly prometheus: StoredKeyCertificate;
  readonly serviceAccount: ServiceAccountKeys;
}

export interface ClusterPkiOptions extends CertificateTimes {
  readonly dialect: Dialect;
  /** Names of the API server besides its Service's names and `localhost`. */
  readonly names: readonly string[];
  /** Addresses of the API server besides loopback: the node's, and the first of the service range. */
  readonly ips: readonly string[];
  /** DNS domain of the cluster's Services; `cluster.local` when absent. */
  readonly clusterDomain?: string;
  /** Type of a new service account key; ECDSA when absent. */
  readonly serviceAccountKeyType?: 'ec' | 'rsa';
}

/** The cluster's PKI in `directory` (private files 0600). Throws the file system's errors. */
export async function ensureClusterPki(directory: string | FileStore, options: ClusterPkiOptions): Promise<ClusterPki> {
  const files = typeof directory === 'string' ? directoryStore(directory) : directory;
  const { dialect } = options;
  const { users, groups } = dialect;
  const authority = await ensureAuthority(files, 'ca', `${dialect.product}-ca`, options.now);
  const frontProxyAuthority = await ensureAuthority(files, 'front-proxy-ca', 'front-proxy-ca', options.now);
  const issue = (file: string, wanted: Wanted, signer = authority) =>
    ensureCertificate(files, file, signer, wanted, options);
  const client = (commonName: string, ...organizations: string[]): Wanted => ({
    subject: { commonName, organizations },
    usages: ['client'],
  });
  return {
    authority,
    frontProxyAuthority,
    apiServer: await issue('apiserver', {
      subject: { commonName: dialect.components.apiServer, organizations: [] },
      usages: ['server'],
      names: apiServerNames(options),
      ips: unique(['127.0.0.1', '::1', ...options.ips]),
    }),
    apiServerNodeAgentClient: await issue(
      `apiserver-${dialect.components.nodeAgent}-client`,
      client(users.apiServerNodeAgentClient, groups.masters),
    ),
    frontProxyClient: await issue('front-proxy-client', client('front-proxy-client'), frontProxyAuthority),
    admin: await issue('admin', client(users.admin, groups.masters)),
    controllerManager: await issue('controller-manager', client(users.controllerManager)),
    scheduler: await issue('scheduler', client(users.scheduler)),
    prometheus: await issue('prometheus', client(users.prometheus, groups.monitoring)),
    serviceAccount: await ensureServiceAccountKeys(files, options.serviceAccountKeyType ?? 'ec'),
  };
}

/** What one node's agent needs. */
export interface NodePki {
  /** Client certificate of `system:node:<name>` in `system:nodes`. */
  readonly client: StoredKeyCertificate;
  /** What the node agent serves with. */
  readonly serving: StoredKeyCertificate;
}

export interface NodePkiOptions extends CertificateTimes {
  readonly dialect: Dialect;
  readonly nodeName: string;
  readonly names: readonly string[];
  readonly ips: readonly string[];
}

/** The certificates of one node's agent, in files named after the node. */
export async function ensureNodePki(
  directory: string | FileStore,
  authority: KeyCertificate,
  options: NodePkiOptions,
): Promise<NodePki> {
  const files = typeof directory === 'string' ? directoryStore(directory) : directory;
  const { users, groups } = options.dialect;
  const subject = { commonName: `${users.nodePrefix}${options.nodeName}`, organizations: [groups.nodes] };
  const issue = (file: string, wanted: Wanted) => ensureCertificate(files, file, authority, wanted, options);
  return {
    client: await issue(`node-${options.nodeName}-client`, { subject, usages: ['client'] }),
    serving: await issue(`node-${options.nodeName}-serving`, {
      subject,
      usages: ['server'],
      names: unique([options.nodeName, ...options.names]),
      ips: unique(options.ips),
    }),
  };
}

/** The client certificate of a daemon that not every cluster has. */
export async function ensureClientPki(
  directory: string | FileStore,
  authority: KeyCertificate,
  options: CertificateTimes & {
    readonly file: string;
    readonly user: string;
    /** Whose rights it has besides its own. */
    readonly groups?: readonly string[];
  },
): Promise<StoredKeyCertificate> {
  const { file, user, groups: organizations = [], ...times } = options;
  const files = typeof directory === 'string' ? directoryStore(directory) : directory;
  const wanted: Wanted = { subject: { commonName: user, organizations }, usages: ['client'] };
  return ensureCertificate(files, file, authority, wanted, times);
}

function apiServerNames({ dialect, names, clusterDomain = 'cluster.local' }: ClusterPkiOptions): string[] {
  const service = dialect.apiServiceName;
  const { default: namespace } = dialect.namespaces;
  return unique([
    service,
    `${service}.${namespace}`,
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.${clusterDomain}`,
    'localhost',
    ...names,
  ]);
}

const unique = (values: readonly string[]): string[] => [...new Set(values)];

async function ensureServiceAccountKeys(files: FileStore, type: 'ec' | 'rsa'): Promise<ServiceAccountKeys> {
  const paths = { privateKeyFile: files.path('sa.key'), publicKeyFile: files.path('sa.pub') };
  const found = await files.read('sa.key');
  const keys =
    found === undefined ? await (type === 'rsa' ? generateRsaKey() : generateEcKey()) : keyPairFromPem(found);
  const privateKey = found ?? privateKeyToPem(keys.privateKey);
  const publicKey = publicKeyToPem(keys.publicKey);
  if (found === undefined) await files.write('sa.key', privateKey, 0o600);
  if ((await files.read('sa.pub')) !== publicKey) await files.write('sa.pub', publicKey, 0o644);
  return { privateKey, publicKey, ...paths };
}

/** How long until the first of the cluster's certificates has to be renewed, in milliseconds; zero when one is due. */
export function renewalDueMs(
  pki: readonly KeyCertificate[],
  now: number,
  renewBeforeMs = defaultRenewBeforeMs,
): number {
  const ends = pki.flatMap(({ certificate }) =>
    certificatesInPem(certificate).map((der) => certificateTimes(der).notAfter),
  );
  return Math.max(0, Math.min(...ends) - renewBeforeMs - now);
}
