/** Which headers a proxy passes on. Pure. */

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
export function endToEndHeaders<T extends string | string[]>(
  received: Readonly<Record<string, T | undefined>>,
): Record<string, T> {
  const dropped = connectionOptions(String(received['connection'] ?? ''));
  const kept: Record<string, T> = {};
  for (const [name, value] of Object.entries(received)) {
    if (value !== undefined && !hopHeaders.has(name) && !dropped.has(name)) kept[name] = value;
  }
  return kept;
}

function connectionOptions(value: string): ReadonlySet<string> {
  if (value === '') return none;
  return new Set(
    value
      .toLowerCase()
      .split(',')
      .map((option) => option.trim())
      // These say how long a body is and whom a request is for: `connection` cannot take them away.
      .filter((option) => option !== 'content-length' && option !== 'host'),
  );
}

const none: ReadonlySet<string> = new Set();

/** How servers of this project pass requests and answers on: as they are. */

/** Methods that may be repeated when it is not known whether they were heard (RFC 9110, 9.2.2). */
export const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Options of `@fastify/http-proxy`. */
export const forwardingOptions = {
  // Requests for another protocol have a tunnel of their own.
  websocket: false,
  internalRewriteLocationHeader: false,
  disableRequestLogging: true,
} as const;

/** Its `replyOptions`. */
export const unchangedReplies = {
  rewriteHeaders: endToEndHeaders,
  // A 503 is an answer: the library would ask again up to ten times.
  retryDelay: () => null,
} as const;
