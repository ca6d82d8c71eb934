/** A backend: its address, and how to authenticate it. */
import type { LookupAddress } from 'node:dns';
import type { Agent } from 'node:http';
import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { withPartialTrustChain } from '#apimachinery/net/tls-trust.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import type { Address } from '#apiserver/service-routing/address.js';
import { endToEndHeaders } from '#daemon/streaming/forwarding.js';
import type { Dial } from '#http/client/dial.js';
import { DialedHttpAgent, DialedHttpsAgent } from '#http/client/dialed-agent.js';

export interface BackendTLS {
  /** PEM of the client certificate and key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** CA bundle (PEM); absent: the certificate is not verified, unless `systemTrust` is set. */
  readonly ca?: string | Buffer;
  /** Trusts Node.js's authorities when `ca` is absent. */
  readonly systemTrust?: boolean;
  /** Name expected in the certificate; absent: the host. */
  readonly serverName?: string;
}

export interface Backend extends Address {
  /** Addresses of a `host` name that was resolved before; only these are dialled. */
  readonly addresses?: readonly LookupAddress[];
  /** Absent: plain HTTP. */
  readonly tls?: BackendTLS;
  /** Opens connections to it; absent: directly. */
  readonly dial?: Dial | undefined;
}

/** The agent of one request. */
export function agentOf({ dial, tls }: Pick<Backend, 'dial' | 'tls'>): Agent | false {
  if (dial === undefined) return false;
  return tls === undefined ? new DialedHttpAgent(dial) : new DialedHttpsAgent(dial);
}

/** Options for `net.connect` and the functions built on it. */
export function dialTarget({ host, port, addresses, dial }: Backend): {
  host: string;
  port: number;
  lookup?: LookupFunction;
} {
  if (addresses === undefined) return { host, port };
  // A proxy gets an address that was checked.
  if (dial !== undefined) return { host: addresses[0]?.address ?? host, port };
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
  return withPartialTrustChain({
    rejectUnauthorized: tls.ca !== undefined || tls.systemTrust === true,
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
  });
}

/**
 * Request headers for this server, which the backend must not see. Cookies are passed on: this server uses none, and programs
 * behind a proxy use them for logins.
 */
const ownHeaders: ReadonlySet<string> = new Set(['authorization', 'content-length', 'expect', 'host']);
const ownPrefixes = [':', 'impersonate-', 'x-remote-'];

export function forwardedHeaders(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const [name, value] of Object.entries(endToEndHeaders(headers)))
    if (!ownHeaders.has(name) && !ownPrefixes.some((prefix) => name.startsWith(prefix))) forwarded[name] = value;
  return forwarded;
}

/** `X-Forwarded-For`: the client's own header, and the client's address. */
export function forwardedFor({ headers, remoteAddress }: Pick<ApiRequest, 'headers' | 'remoteAddress'>): string {
  const before = headers['x-forwarded-for'];
  return before === undefined ? remoteAddress : `${before}, ${remoteAddress}`;
}
