/**
 * All keys and certificates of a cluster, loaded from a directory or created there. A certificate is replaced when it or
 * its key is missing or unreadable, when another authority signed it, when it expires soon, or when it lacks a requested
 * name. Authorities and the service account key are never replaced: everything else depends on them.
 */

import type { Dialect } from '#apimachinery/dialect.js';
import type { KeyCertificate } from '#pki/certificate.js';
import {
  type CertificateSpec,
  type CertificateTimes,
  ensureAuthority,
  ensureCertificate,
  type StoredKeyCertificate,
} from '#pki/ensure.js';
import { directoryStore, type FileStore } from '#pki/file-store.js';
import { generateEcKey, generateRsaKey, keyPairFromPem, privateKeyToPem, publicKeyToPem } from '#pki/keys.js';

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
  /** Client certificate for reading metrics. */
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
  const issue = (file: string, request: CertificateSpec, signer = authority) =>
    ensureCertificate(files, file, signer, request, options);
  const client = (commonName: string, ...organizations: string[]): CertificateSpec => ({
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

/** Certificates of one node's agent. */
export interface NodePki {
  /** Client certificate of `system:node:<name>` in `system:nodes`. */
  readonly client: StoredKeyCertificate;
  /** Serving certificate. */
  readonly serving: StoredKeyCertificate;
}

export interface NodePkiOptions extends CertificateTimes {
  readonly dialect: Dialect;
  readonly nodeName: string;
  readonly names: readonly string[];
  readonly ips: readonly string[];
}

/** Loads or creates the certificates of one node's agent, in files named after the node. */
export async function ensureNodePki(
  directory: string | FileStore,
  authority: KeyCertificate,
  options: NodePkiOptions,
): Promise<NodePki> {
  const files = typeof directory === 'string' ? directoryStore(directory) : directory;
  const { users, groups } = options.dialect;
  const subject = { commonName: `${users.nodePrefix}${options.nodeName}`, organizations: [groups.nodes] };
  const issue = (file: string, request: CertificateSpec) => ensureCertificate(files, file, authority, request, options);
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

/** Loads or creates the client certificate of an optional daemon. */
export async function ensureClientPki(
  directory: string | FileStore,
  authority: KeyCertificate,
  options: CertificateTimes & {
    readonly file: string;
    readonly user: string;
    /** Groups whose rights it has too. */
    readonly groups?: readonly string[];
  },
): Promise<StoredKeyCertificate> {
  const { file, user, groups: organizations = [], ...times } = options;
  const files = typeof directory === 'string' ? directoryStore(directory) : directory;
  return ensureCertificate(
    files,
    file,
    authority,
    { subject: { commonName: user, organizations }, usages: ['client'] },
    times,
  );
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
  const stored = await files.read('sa.key');
  const keys =
    stored === undefined ? await (type === 'rsa' ? generateRsaKey() : generateEcKey()) : keyPairFromPem(stored);
  const privateKey = stored ?? privateKeyToPem(keys.privateKey);
  const publicKey = publicKeyToPem(keys.publicKey);
  if (stored === undefined) await files.write('sa.key', privateKey, 0o600);
  if ((await files.read('sa.pub')) !== publicKey) await files.write('sa.pub', publicKey, 0o600);
  return { privateKey, publicKey, ...paths };
}
