/**
 * Certificates of the cluster's own etcd. They have an authority of their own, so that clients with a certificate of the
 * cluster's CA cannot read the store.
 */

import { type CertificateTimes, ensureAuthority, ensureCertificate, type StoredKeyCertificate } from '#pki/ensure.js';
import { directoryStore, type FileStore } from '#pki/file-store.js';

export interface EtcdPki {
  readonly authority: StoredKeyCertificate;
  /** The member's certificate towards clients and peers. */
  readonly server: StoredKeyCertificate;
  /** The API server's client certificate. */
  readonly client: StoredKeyCertificate;
}

export interface EtcdPkiOptions extends CertificateTimes {
  /** Names of the members besides `localhost`. */
  readonly names?: readonly string[];
  /** Addresses of the member besides loopback. */
  readonly ips?: readonly string[];
}

export async function ensureEtcdPki(directory: string | FileStore, options: EtcdPkiOptions): Promise<EtcdPki> {
  const files = typeof directory === 'string' ? directoryStore(directory) : directory;
  const { names = [], ips = [] } = options;
  const authority = await ensureAuthority(files, 'etcd-ca', 'etcd-ca', options.now);
  const subject = { commonName: 'etcd', organizations: [] };
  const server = await ensureCertificate(
    files,
    'etcd-server',
    authority,
    { subject, usages: ['server', 'client'], names: ['localhost', ...names], ips: ['127.0.0.1', '::1', ...ips] },
    options,
  );
  const client = await ensureCertificate(
    files,
    'etcd-client',
    authority,
    { subject: { commonName: 'apiserver-etcd-client', organizations: [] }, usages: ['client'] },
    options,
  );
  return { authority, server, client };
}
