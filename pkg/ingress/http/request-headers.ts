/** Reads a request's host, and writes the headers for its backend. Pure. */

import type { IncomingHttpHeaders } from 'node:http';
import { endToEndHeaders } from '#daemon/streaming/forwarding.js';

export interface RequestHost {
  /** As received, with an optional port; may be empty for HTTP/1.0. */
  readonly authority: string;
  /** Lower case, without port and trailing dot. */
  readonly host: string;
  /** Path and query. */
  readonly url: string;
}

/** A name, an IPv4 address or a bracketed IPv6 address, with an optional port. */
const form = /^([a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const absolute = /^https?:\/\/([^/?#]*)(.*)$/i;

/** Undefined for several hosts or an invalid one, since servers interpret such requests differently. */
export function requestHost(
  url: string,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
): RequestHost | undefined {
  const target = absolute.exec(url);
  const pseudo = headers[':authority'];
  const named = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host');
  if (named.length > 1) return undefined;
  const said = headers.host;
  if (typeof pseudo === 'string' && said !== undefined && said !== pseudo) return undefined;
  const authority = target?.[1] ?? (typeof pseudo === 'string' ? pseudo : said) ?? '';
  const rest = target === null ? url : (target[2] ?? '');
  const path = target === null || rest.startsWith('/') ? rest : `/${rest}`;
  if (authority === '' && target === null && said === undefined) return { authority, host: '', url: path };
  const host = form.exec(authority)?.[1]?.toLowerCase();
  if (host === undefined) return undefined;
  return { authority, host: host.endsWith('.') ? host.slice(0, -1) : host, url: path };
}

/** Headers that backends trust; only this proxy may set them. */
const vouchedHeaders: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-original-uri',
  'x-original-url',
  'x-real-ip',
  'x-rewrite-url',
]);

export interface Client {
  /** Address of the connection's peer. */
  readonly address: string;
  /** The client is a proxy whose forwarded headers are trusted. */
  readonly isTrusted: boolean;
  /** As the client sent it, with an optional port. */
  readonly host: string;
  readonly scheme: 'http' | 'https';
  readonly port: number;
}

type Headers = Record<string, string | string[]>;

export function requestHeaders(received: IncomingHttpHeaders, client: Client): Headers {
  const kept: Headers = {};
  for (const [name, value] of Object.entries(endToEndHeaders(received))) {
    if (name.startsWith(':') || name === 'host' || name === 'expect') continue;
    // Some backends treat underscores in names as dashes.
    if (vouchedHeaders.has(name.replaceAll('_', '-'))) continue;
    kept[name] = value;
  }
  return { ...kept, host: client.host, ...vouched(received, client) };
}

function vouched(received: IncomingHttpHeaders, { address, host, isTrusted, port, scheme }: Client): Headers {
  const said = (name: string) => (isTrusted ? text(received[name]) : undefined);
  const before = said('x-forwarded-for');
  return {
    'x-forwarded-for': before === undefined ? address : `${before}, ${address}`,
    'x-forwarded-host': said('x-forwarded-host') ?? host,
    'x-forwarded-port': said('x-forwarded-port') ?? String(port),
    'x-forwarded-proto': said('x-forwarded-proto') ?? scheme,
    'x-real-ip': said('x-real-ip') ?? address,
  };
}

function text(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
