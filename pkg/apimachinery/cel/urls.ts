/** Parses URLs like Go. Source: 1.24, …/apiextensions-apiserver/pkg/apiserver/schema/cel/library/urls.go. */
import { CelFailure, PlainList, PlainMap, Url, type Value } from '#apimachinery/cel/values.js';

/** The URL, or a failure with the reason. Must be absolute, or an absolute path. */
export function parseUrl(text: string): Url | CelFailure {
  const fail = (why: string) =>
    new CelFailure(`URL parse error during conversion from string: parse ${JSON.stringify(text)}: ${why}`);
  if (/[\u0000-\u001f\u007f]/.test(text)) return fail('net/url: invalid control character in URL');
  if (text === '') return fail('empty url');
  if (text === '*') return new Url(text, { scheme: '', host: '', path: '*', query: '' });
  const [beforeFragment = ''] = text.split('#', 1);
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(beforeFragment)?.[1] ?? '';
  if (scheme === '' && beforeFragment.startsWith(':')) return fail('missing protocol scheme');
  const rest = scheme === '' ? beforeFragment : beforeFragment.slice(scheme.length + 1);
  const [beforeQuery = '', ...queries] = rest.split('?');
  const query = queries.join('?');
  if (!beforeQuery.startsWith('/')) {
    // Opaque text after a scheme is also a URI.
    if (scheme !== '') return new Url(text, { scheme: scheme.toLowerCase(), host: '', path: '', query });
    return fail('invalid URI for request');
  }
  if (!beforeQuery.startsWith('//') || (scheme === '' && beforeQuery.startsWith('///'))) {
    return withPath(text, { scheme, host: '', path: beforeQuery, query }, fail);
  }
  const end = beforeQuery.indexOf('/', 2);
  const authority = beforeQuery.slice(2, end < 0 ? undefined : end);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const why = hostError(host);
  if (why !== undefined) return fail(why);
  return withPath(text, { scheme, host, path: end < 0 ? '' : beforeQuery.slice(end), query }, fail);
}

function withPath(
  text: string,
  parts: Pick<Url, 'scheme' | 'host' | 'path' | 'query'>,
  fail: (why: string) => CelFailure,
): Url | CelFailure {
  const broken = /%(?![0-9A-Fa-f]{2}).{0,2}/s.exec(parts.path)?.[0];
  if (broken !== undefined) return fail(`invalid URL escape ${JSON.stringify(broken)}`);
  return new Url(text, { ...parts, scheme: parts.scheme.toLowerCase(), path: escaped(parts.path) });
}

function hostError(host: string): string | undefined {
  if (host.startsWith('[')) {
    const close = host.lastIndexOf(']');
    if (close < 0) return "missing ']' in host";
    return portError(host.slice(close + 1));
  }
  const colon = host.lastIndexOf(':');
  if (colon >= 0) {
    const why = portError(host.slice(colon));
    if (why !== undefined) return why;
  }
  const odd = /[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/.exec(host)?.[0];
  return odd === undefined ? undefined : `invalid character ${JSON.stringify(odd)} in host name`;
}

function portError(port: string): string | undefined {
  return port === '' || /^:\d*$/.test(port) ? undefined : `invalid port ${JSON.stringify(port)} after host`;
}

/** Percent-encodes invalid characters; valid ones keep their spelling. */
function escaped(path: string): string {
  return path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/[\]%]/gu, (character) =>
    [...Buffer.from(character, 'utf8')].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

export function urlPart(fn: string, { scheme, host, path, query }: Url): Value | undefined {
  const port = /:(\d*)$/.exec(host.startsWith('[') ? host.slice(host.lastIndexOf(']') + 1) : host);
  switch (fn) {
    case 'getScheme':
      return scheme;
    case 'getHost':
      return host;
    case 'getHostname':
      return (port === null ? host : host.slice(0, -port[0].length)).replace(/^\[(.*)\]$/, '$1');
    case 'getPort':
      return port?.[1] ?? '';
    case 'getEscapedPath':
      return path;
    case 'getQuery':
      return queryOf(query);
    default:
      return undefined;
  }
}

function queryOf(query: string): PlainMap {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const [key, value] = cut(pair).map(unescaped);
    if (key !== undefined && value !== undefined) values.set(key, [...(values.get(key) ?? []), value]);
  }
  return new PlainMap([...values].map(([key, values]) => [key, new PlainList(values)]));
}

function cut(pair: string): string[] {
  const at = pair.indexOf('=');
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
}

/** Undefined for an invalid escape. */
function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return undefined;
  }
}
