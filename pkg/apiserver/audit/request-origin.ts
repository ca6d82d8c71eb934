/** A request's source addresses and its attempted authentication methods. Pure. */
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';

/** Limit of addresses of one request. */
const maxSources = 32;

/** The addresses that proxies report, client first, then that of the connection (1.24: `util/net/http.go`). */
export function sourcesOf({ headers, remoteAddress }: Pick<ApiRequest, 'headers' | 'remoteAddress'>): string[] {
  const addresses: string[] = [];
  const add = (text: string) => {
    const ip = canonicalAddress(text);
    if (ip !== undefined && addresses.length < maxSources) addresses.push(ip);
  };
  for (const part of (headers['x-forwarded-for'] ?? '').split(',', maxSources)) add(part.trim());
  const real = canonicalAddress(headers['x-real-ip'] ?? '');
  // Usually it is already the first one.
  if (real !== undefined && !addresses.includes(real)) add(real);
  if (addresses.at(-1) !== canonicalAddress(remoteAddress)) add(remoteAddress);
  return addresses;
}

/** The message of 1.24 about attempted authentication methods. */
export function attemptedBy({ headers, clientCertificate, url }: ApiRequest): string {
  const authorization = (headers['authorization'] ?? '').trim();
  const [scheme = '', ...rest] = authorization.split(' ');
  const methods = [
    ...(scheme.toLowerCase() === 'basic' && rest.length > 0 ? ['basic'] : []),
    ...(scheme.toLowerCase() === 'bearer' && rest.length > 0 ? ['bearer'] : []),
    ...(/[?&]access_token=[^&]/.test(url) ? ['access_token'] : []),
    ...(clientCertificate === undefined ? [] : ['x509']),
  ];
  return methods.length > 0
    ? `Authentication failed, attempted: ${methods.join(', ')}`
    : 'Authentication failed, no credentials provided';
}
