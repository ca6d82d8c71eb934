/** Whom a request is for. Pure. */
import type { IncomingHttpHeaders } from 'node:http';

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
