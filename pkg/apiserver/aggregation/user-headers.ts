/** The user in headers for extension API servers, like 1.24's `transport.SetAuthProxyHeaders`. */
import type { UserInfo } from '#apiserver/http/exchange.js';

/** Each value is a header line of its own, as group names may contain commas. Throws TypeError for control characters. */
export function userHeaders({ name, groups, extra = {} }: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'x-remote-user': headerText(name) };
  if (groups.length > 0) headers['x-remote-group'] = groups.map(headerText);
  for (const [key, values] of Object.entries(extra)) {
    if (values.length > 0) headers[`x-remote-extra-${escapeKey(key)}`] = values.map(headerText);
  }
  return headers;
}

/** UTF-8 bytes as a latin1 string, which Node.js writes unchanged. */
function headerText(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(bytes)) throw new TypeError('invalid header field value');
  return bytes;
}

/** Percent-encodes bytes that are not allowed in header names, and the percent sign. */
function escapeKey(key: string): string {
  return Buffer.from(key, 'utf8')
    .toString('latin1')
    .replace(
      /[^A-Za-z0-9!#$&'*+.^_`|~-]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    );
}
