/**
 * All keys and certificates of a cluster, loaded from a directory or made there. What is missing, unreadable as a
 * pair, signed by another authority, about to expire, or without a wanted name is made again; authorities and the
 * service account key are kept as long as they exist, for everything else depends on them.
 */
import { X509Certificate } from 'node:crypto';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  addressBytes,
  certificateTimes,
  createAuthority,
  type IssueOptions,
  issueCertificate,
  type KeyCertificate,
} from '#daemon/pki/certificate.js';
import { children, readOne } from '#daemon/pki/der.js';
import { type DistinguishedName, decodeName } from '#daemon/pki/distinguished-name.js';
import { directoryStore, type FileStore } from '#daemon/pki/file-store.js';
import { generateEcKey, generateRsaKey, keyPairFromPem, privateKeyToPem, publicKeyToPem } from '#daemon/pki/keys.js';
import { certificatesInPem } from '#daemon/pki/pem.js';

/** A certificate with its key, and the files they are in (undefined without a directory). */
export interface StoredKeyCertificate extends KeyCertificate {
  readonly certificateFile: string | undefined;
  readonly privateKeyFile: string | undefined;
}

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
  readonly serviceAccount: ServiceAccountKeys;
}

export interface ClusterPkiOptions {
  readonly dialect: Dialect;
  /** Names of the API server besides its Service's names and `localhost`. */
  readonly names: readonly string[];
  /** Addresses of the API server besides loopback: the node's, and the first of the service range. */
  readonly ips: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** DNS domain of the cluster's Services; `cluster.local` when absent. */
  readonly clusterDomain?: string;
  /** A certificate that ends sooner than this is made again; 30 days when absent. */
  readonly renewBeforeMs?: number;
  /** Type of a new service account key; ECDSA when absent. */
  readonly serviceAccountKeyType?: 'ec' | 'rsa';
}

const defaultRenewBeforeMs = 30 * 24 * 3600_000;

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

export interface NodePkiOptions {
  readonly dialect: Dialect;
  readonly nodeName: string;
  readonly names: readonly string[];
  readonly ips: readonly string[];
  readonly now: number;
  readonly renewBeforeMs?: number;
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

type Wanted = Omit<IssueOptions, 'now' | 'validityMs'>;

const certificateName = (file: string) => `${file}.crt`;
const keyName = (file: string) => `${file}.key`;

async function load(files: FileStore, file: string): Promise<KeyCertificate | undefined> {
  const [certificate, privateKey] = await Promise.all([files.read(certificateName(file)), files.read(keyName(file))]);
  return certificate === undefined || privateKey === undefined ? undefined : { certificate, privateKey };
}

/** The key is written first: a crash in between leaves a pair that does not match, which the next start replaces. */
async function save(files: FileStore, file: string, made: KeyCertificate): Promise<void> {
  await files.write(keyName(file), made.privateKey, 0o600);
  await files.write(certificateName(file), made.certificate, 0o644);
}

function stored(files: FileStore, file: string, pair: KeyCertificate): StoredKeyCertificate {
  return { ...pair, certificateFile: files.path(certificateName(file)), privateKeyFile: files.path(keyName(file)) };
}

async function ensureAuthority(
  files: FileStore,
  file: string,
  commonName: string,
  now: number,
): Promise<StoredKeyCertificate> {
  const found = await load(files, file);
  if (found !== undefined && parsePair(found) !== undefined) return stored(files, file, found);
  const made = await createAuthority({ commonName, now });
  await save(files, file, made);
  return stored(files, file, made);
}

async function ensureCertificate(
  files: FileStore,
  file: string,
  authority: KeyCertificate,
  wanted: Wanted,
  { now, renewBeforeMs = defaultRenewBeforeMs }: { readonly now: number; readonly renewBeforeMs?: number },
): Promise<StoredKeyCertificate> {
  const found = await load(files, file);
  if (found !== undefined && stillGood(found, authority, wanted, now + renewBeforeMs))
    return stored(files, file, found);
  const made = await issueCertificate(authority, { ...wanted, now });
  await save(files, file, made);
  return stored(files, file, made);
}

/** The certificate when it parses and belongs to the key. */
function parsePair(pair: KeyCertificate): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(pair.certificate);
    return certificate.checkPrivateKey(keyPairFromPem(pair.privateKey).privateKey) ? certificate : undefined;
  } catch {
    // Damaged files are made anew, exactly as missing ones.
    return undefined;
  }
}

function stillGood(pair: KeyCertificate, authority: KeyCertificate, wanted: Wanted, until: number): boolean {
  const certificate = parsePair(pair);
  if (certificate === undefined) return false;
  if (!certificate.verify(new X509Certificate(authority.certificate).publicKey)) return false;
  if (certificateTimes(certificate.raw).notAfter < until) return false;
  const has = certificateSubject(certificate.raw);
  if (has.commonName !== wanted.subject.commonName) return false;
  if (has.organizations.join('\n') !== wanted.subject.organizations.join('\n')) return false;
  const names = wanted.names ?? [];
  const ips = wanted.ips ?? [];
  return names.every((name) => hasName(certificate, name)) && ips.every((ip) => hasAddress(certificate, ip));
}

function hasName(certificate: X509Certificate, name: string): boolean {
  return (certificate.subjectAltName ?? '').split(', ').includes(`DNS:${name}`);
}

function hasAddress(certificate: X509Certificate, ip: string): boolean {
  const wanted = addressBytes(ip);
  return (certificate.subjectAltName ?? '')
    .split(', ')
    .filter((entry) => entry.startsWith('IP Address:'))
    .some((entry) => addressBytes(entry.slice('IP Address:'.length)).equals(wanted));
}

/** Common name and organizations of a certificate in DER. Throws `DerError`. */
export function certificateSubject(der: Buffer): DistinguishedName {
  const body = children(children(readOne(der))[0]);
  const fields = body[0]?.tag === 0xa0 ? body.slice(1) : body;
  const subject = fields[4];
  return subject === undefined ? { commonName: '', organizations: [] } : decodeName(subject);
}

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
