/** The headers that a backend gets. Pure. */
import { endToEndHeaders } from '#daemon/streaming/forwarding.js';
import type { IncomingHttpHeaders } from 'node:http';

/** Whom a request is for. Pure. */

export interface RequestHost {
  /** As the client wrote it, with a port where there was one; empty: HTTP/1.0 may say nothing. */
  readonly authority: string;
  /** Lower case, without port and last dot. */
  readonly host: string;
  /** Path and query. */
  readonly url: string;
}

/** Names, IPv4 addresses and bracketed IPv6 addresses, with a port or without. */
const form = /^([a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const absolute = /^https?:\/\/([^/?#]*)(.*)$/i;

/** Undefined where there are several hosts, or one that is no name: such requests mean different things to different servers. */
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

/** What backends believe about clients: only this proxy says it. */
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
  /** Of the connection's other end. */
  readonly address: string;
  /** It is a proxy whose word about its own clients counts. */
  readonly isTrusted: boolean;
  /** As the client named it, with a port where there was one. */
  readonly host: string;
  readonly scheme: 'http' | 'https';
  readonly port: number;
}

type Headers = Record<string, string | string[]>;

export function requestHeaders(received: IncomingHttpHeaders, client: Client): Headers {
  const kept: Headers = {};
  for (const [name, value] of Object.entries(endToEndHeaders(received))) {
    if (name.startsWith(':') || name === 'host' || name === 'expect') continue;
    // Some backends read `x_forwarded_for` as that header, too.
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
