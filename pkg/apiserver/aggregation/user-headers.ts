/** How extension API servers are told who asks: the headers of 1.24's `transport.SetAuthProxyHeaders`. */
import type { UserInfo } from '#apiserver/http/exchange.js';

/** Several values are several lines, since a group's name may hold a comma. Throws a TypeError for what no header can hold. */
export function userHeaders({ name, groups, extra = {} }: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'x-remote-user': headerText(name) };
  if (groups.length > 0) headers['x-remote-group'] = groups.map(headerText);
  for (const [key, values] of Object.entries(extra)) {
    if (values.length > 0) headers[`x-remote-extra-${escapeKey(key)}`] = values.map(headerText);
  }
  return headers;
}

/** The text as UTF-8, byte by byte, which is what Node.js writes of a latin1 string. */
function headerText(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(bytes)) throw new TypeError('invalid header field value');
  return bytes;
}

/** Bytes that no header name may have, and the percent sign itself, in hexadecimal digits behind one. */
function escapeKey(key: string): string {
  return Buffer.from(key, 'utf8')
    .toString('latin1')
    .replace(
      /[^A-Za-z0-9!#$&'*+.^_`|~-]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    );
}
