/**
 * Certificates of the cluster's own etcd. They come from an authority of their own: whoever the cluster's CA vouches
 * for must not be able to read the store.
 */

import { ensureAuthority, ensureCertificate, type StoredKeyCertificate } from '#pki/ensure.js';
import { directoryStore } from '#pki/file-store.js';

export interface EtcdPki {
  readonly authority: StoredKeyCertificate;
  /** For clients and peers of the member. */
  readonly server: StoredKeyCertificate;
  /** The API server's towards etcd. */
  readonly client: StoredKeyCertificate;
}

export async function ensureEtcdPki(directory: string, now: number): Promise<EtcdPki> {
  const files = directoryStore(directory);
  const authority = await ensureAuthority(files, 'etcd-ca', 'etcd-ca', now);
  const subject = { commonName: 'etcd', organizations: [] };
  const server = await ensureCertificate(
    files,
    'etcd-server',
    authority,
    { subject, usages: ['server', 'client'], names: ['localhost'], ips: ['127.0.0.1', '::1'] },
    { now },
  );
  const client = await ensureCertificate(
    files,
    'etcd-client',
    authority,
    { subject: { commonName: 'apiserver-etcd-client', organizations: [] }, usages: ['client'] },
    { now },
  );
  return { authority, server, client };
}
