import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type ChannelOptions, credentials } from '@grpc/grpc-js';

/** Server name for endpoints with addresses: RFC 6066, section 3, allows only names. */
const anyName = 'etcd';

/**
 * Creates a client of the etcd library that connects to addresses over TLS. gRPC's library sends an address as server name,
 * which Node.js refuses from 26 on, and etcd's library does not tell which endpoint a connection is for: so a certificate of
 * any endpoint is accepted. `make` must create the credentials before it returns.
 */
export function withIdentities<T>(endpoints: readonly string[], make: (options: ChannelOptions) => T): T {
  const hosts = endpoints.map((endpoint) => new URL(endpoint).hostname.replace(/^\[(.*)\]$/, '$1'));
  if (hosts.every((host) => isIP(host) === 0)) return make({});
  const { createSsl } = credentials;
  credentials.createSsl = (ca, key, certificate) =>
    createSsl(ca, key, certificate, {
      checkServerIdentity: (_name, presented) => identityError(hosts, presented),
    });
  try {
    return make({ 'grpc.ssl_target_name_override': anyName });
  } finally {
    credentials.createSsl = createSsl;
  }
}

/** Undefined when the certificate names one of the hosts. */
export function identityError(hosts: readonly string[], presented: PeerCertificate): Error | undefined {
  const errors = hosts.map((host) => checkServerIdentity(host, presented));
  return errors.includes(undefined) ? undefined : errors[0];
}
