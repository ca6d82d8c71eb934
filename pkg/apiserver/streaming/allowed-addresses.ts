/**
 * Decides which addresses from objects' statuses this server may connect to. Names are resolved once, every address is
 * checked, and only those addresses are dialled, so that a later answer of a name server cannot redirect the connection.
 */

import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import { isProxyable, specialRange } from '#apimachinery/net/special-ip.js';

/** All addresses of a name. */
export type ResolveName = (name: string) => Promise<readonly LookupAddress[]>;

export interface Reachable {
  readonly host: string;
  /** The only addresses to dial, if `host` is a name. */
  readonly addresses?: readonly LookupAddress[];
}

/**
 * An address of another machine, in canonical form: the C library would read leading zeros as octal numbers. Throws 400 with the
 * message of 1.24.
 */
export function proxyableAddress(address: string): Reachable {
  const host = canonicalAddress(address);
  if (host === undefined || !isProxyable(host)) throw notAllowed();
  return { host };
}

/** The same for an address or a name. Throws 400, also for a name that cannot be resolved. */
export function proxyableHost(host: string, resolve: ResolveName): Promise<Reachable> {
  return reachable(host, resolve, isProxyable);
}

/**
 * The address of a node's agent. Unlike other servers of a node, it may be on this machine, but not this server itself. Other
 * special addresses, such as a cloud's link-local metadata server, are refused. Throws 400.
 */
export function agentHost(host: string, resolve: ResolveName, isOwn: (address: string) => boolean): Promise<Reachable> {
  const isMachine = (address: string) => specialRange(address) === 'loopback' || isProxyable(address);
  return reachable(host, resolve, (address) => isMachine(address) && !isOwn(address));
}

async function reachable(host: string, resolve: ResolveName, isAllowed: (ip: string) => boolean): Promise<Reachable> {
  const own = canonicalAddress(host);
  if (own !== undefined && isAllowed(own)) return { host: own };
  // Node.js accepts addresses with zones (`fe80::1%eth0`): refuse them.
  if (own !== undefined || isIP(host) !== 0) throw notAllowed();
  const addresses = await resolve(host).catch((error: unknown) => {
    throw badRequest(messageOf(error), error);
  });
  if (addresses.length === 0) throw badRequest('no addresses for hostname');
  if (!addresses.every(({ address }) => isAllowed(address))) throw notAllowed();
  return { host, addresses };
}

const notAllowed = () => badRequest('address not allowed');
