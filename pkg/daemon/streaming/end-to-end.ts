/** Which headers a proxy passes on. Pure. */
import type { IncomingHttpHeaders } from 'node:http';

/** They are about one connection, and end with it (RFC 9110, 7.6.1). */
const hopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Those of a request or an answer that are not about its connection, nor named by `connection` as such. */
export function endToEnd(received: IncomingHttpHeaders): Record<string, string | string[]> {
  const dropped = connectionOptions(received.connection);
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(received)) {
    if (value !== undefined && !hopHeaders.has(name) && !dropped.has(name)) kept[name] = value;
  }
  return kept;
}

function connectionOptions(value: string | undefined): ReadonlySet<string> {
  if (value === undefined) return none;
  return new Set(
    value
      .toLowerCase()
      .split(',')
      .map((option) => option.trim())
      // These say how long a body is and whom a request is for: nobody takes them away.
      .filter((option) => option !== 'content-length' && option !== 'host'),
  );
}

const none: ReadonlySet<string> = new Set();
