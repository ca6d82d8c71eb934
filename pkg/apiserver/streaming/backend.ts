/** A server behind this one: where it is and how to be sure that it is the one. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { trusted } from '#apimachinery/net/trusted.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import type { Address } from '#apiserver/service-routing/address.js';
import { endToEndHeaders } from '#daemon/streaming/forwarding.js';

export interface BackendTLS {
  /** PEM of the client certificate and key to show. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** PEM of the authorities that may vouch for the server; absent: its certificate is not checked, unless `systemTrust`. */
  readonly ca?: string | Buffer;
  /** The authorities that Node.js knows may vouch for the server, where `ca` names none. */
  readonly systemTrust?: boolean;
  /** Name that the server's certificate must have; absent: that of the host. */
  readonly serverName?: string;
}

export interface Backend extends Address {
  /** What `host` stands for, where it is a name that was resolved before; nothing else is dialled then. */
  readonly addresses?: readonly LookupAddress[];
  /** Absent: plain HTTP. */
  readonly tls?: BackendTLS;
}

/** What to connect to, for `net.connect` and all that is built on it. */
export function dialTarget({ host, port, addresses }: Backend): {
  host: string;
  port: number;
  lookup?: LookupFunction;
} {
  if (addresses === undefined) return { host, port };
  const lookup: LookupFunction = (_name, { all }, done) => {
    const [first] = addresses;
    if (all === true) done(null, [...addresses]);
    else if (first === undefined)
      done(Object.assign(new Error('no addresses for hostname'), { code: 'ENOTFOUND' }), '');
    else done(null, first.address, first.family);
  };
  return { host, port, lookup };
}

export function tlsOptions(
  tls: BackendTLS,
): Pick<ConnectionOptions, 'allowPartialTrustChain' | 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'> {
  return trusted({
    rejectUnauthorized: tls.ca !== undefined || tls.systemTrust === true,
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
  });
}

/**
 * Headers of the client's request that the backend must not see, besides those of its connection: they are for this server.
 * Cookies are not: this server takes none, and programs behind a proxy log people in by them.
 */
const ownHeaders: ReadonlySet<string> = new Set(['authorization', 'content-length', 'expect', 'host']);
const ownPrefixes = [':', 'impersonate-', 'x-remote-'];

export function forwardedHeaders(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(endToEndHeaders(headers)))
    if (!ownHeaders.has(name) && !ownPrefixes.some((prefix) => name.startsWith(prefix))) kept[name] = value;
  return kept;
}

/** `X-Forwarded-For`: whom the client speaks for, and the client. */
export function forwardedFor({ headers, remoteAddress }: Pick<ApiRequest, 'headers' | 'remoteAddress'>): string {
  const before = headers['x-forwarded-for'];
  return before === undefined ? remoteAddress : `${before}, ${remoteAddress}`;
}
