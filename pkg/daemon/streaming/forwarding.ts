/** How this project's proxies forward requests and responses. */

/** Hop-by-hop headers (RFC 9110, 7.6.1). */
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

/** Headers without hop-by-hop ones and those that `connection` names. */
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
      // `connection` cannot remove the body's length and the host.
      .filter((option) => option !== 'content-length' && option !== 'host'),
  );
}

const none: ReadonlySet<string> = new Set();

/** Idempotent methods, which may be repeated if it is unknown whether they arrived (RFC 9110, 9.2.2). */
export const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Options of `@fastify/http-proxy` that forward requests unchanged. */
export const forwardingOptions = {
  // Upgrades have their own tunnel.
  websocket: false,
  internalRewriteLocationHeader: false,
  disableRequestLogging: true,
} as const;

/** `replyOptions` of `@fastify/http-proxy` that forward responses unchanged. */
export const unchangedReplies = {
  rewriteHeaders: endToEndHeaders,
  // A 503 is a response; the library would retry up to ten times.
  retryDelay: () => null,
} as const;
