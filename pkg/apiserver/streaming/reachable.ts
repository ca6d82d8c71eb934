/**
 * Which addresses this server may be led to by what others wrote into a status: names are resolved once, every address
 * is judged, and the judged ones are dialled, so that no second answer of a name server can lead elsewhere.
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
  /** The only ones to dial, where `host` is a name. */
  readonly addresses?: readonly LookupAddress[];
}

/**
 * An address of one other machine, in the form that was judged: the resolver of the C library would read leading zeros as
 * octal numbers, which is another machine. Throws 400 in the words of 1.24.
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
 * Where a node's agent says it is. It may be on this machine, unlike other servers of a node, unless that is this server
 * itself; what is no machine's own address, such as the link-local one of a cloud's metadata, is refused. Throws 400.
 */
export function agentHost(host: string, resolve: ResolveName, isOwn: (address: string) => boolean): Promise<Reachable> {
  const isMachine = (address: string) => specialRange(address) === 'loopback' || isProxyable(address);
  return reachable(host, resolve, (address) => isMachine(address) && !isOwn(address));
}

async function reachable(host: string, resolve: ResolveName, good: (ip: string) => boolean): Promise<Reachable> {
  const own = canonicalAddress(host);
  if (own !== undefined && good(own)) return { host: own };
  // Node.js takes zones (`fe80::1%eth0`) for addresses; they are none here.
  if (own !== undefined || isIP(host) !== 0) throw notAllowed();
  const addresses = await resolve(host).catch((error: unknown) => {
    throw badRequest(messageOf(error), error);
  });
  if (addresses.length === 0) throw badRequest('no addresses for hostname');
  if (!addresses.every(({ address }) => good(address))) throw notAllowed();
  return { host, addresses };
}

const notAllowed = () => badRequest('address not allowed');
