/** Who a request comes from, and how it says who it is. Pure. */
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';

/** Addresses that one request may name. */
const maxSources = 32;

/** What proxies on the way say, from the client on, and the address of the connection (1.24: `util/net/http.go`). */
export function sourcesOf({ headers, remoteAddress }: Pick<ApiRequest, 'headers' | 'remoteAddress'>): string[] {
  const found: string[] = [];
  const add = (text: string) => {
    const ip = canonicalAddress(text);
    if (ip !== undefined && found.length < maxSources) found.push(ip);
  };
  for (const part of (headers['x-forwarded-for'] ?? '').split(',', maxSources)) add(part.trim());
  const real = canonicalAddress(headers['x-real-ip'] ?? '');
  // The first of the list mostly is that one already.
  if (real !== undefined && !found.includes(real)) add(real);
  if (found.at(-1) !== canonicalAddress(remoteAddress)) add(remoteAddress);
  return found;
}

/** As 1.24 words it. */
export function attemptedBy({ headers, clientCertificate, url }: ApiRequest): string {
  const authorization = (headers['authorization'] ?? '').trim();
  const [scheme = '', ...rest] = authorization.split(' ');
  const ways = [
    ...(scheme.toLowerCase() === 'basic' && rest.length > 0 ? ['basic'] : []),
    ...(scheme.toLowerCase() === 'bearer' && rest.length > 0 ? ['bearer'] : []),
    ...(/[?&]access_token=[^&]/.test(url) ? ['access_token'] : []),
    ...(clientCertificate === undefined ? [] : ['x509']),
  ];
  return ways.length > 0
    ? `Authentication failed, attempted: ${ways.join(', ')}`
    : 'Authentication failed, no credentials provided';
}
