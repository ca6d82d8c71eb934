import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type ChannelOptions, credentials } from '@grpc/grpc-js';

/** What a server is asked for that has an address instead of a name (RFC 6066, section 3, allows names only). */
const anyName = 'etcd';

/**
 * Makes a client of the etcd library that reaches servers by addresses over TLS. gRPC's library asks a server for its address
 * as a name, which Node.js refuses from 26 on, and etcd's library does not say whose certificate is expected: the certificate
 * has to be of one of the endpoints. `make` has to make the credentials before it returns.
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

/** Undefined when the certificate is of one of the hosts. */
export function identityError(hosts: readonly string[], presented: PeerCertificate): Error | undefined {
  const errors = hosts.map((host) => checkServerIdentity(host, presented));
  return errors.includes(undefined) ? undefined : errors[0];
}
