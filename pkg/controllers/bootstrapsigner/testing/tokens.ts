/** Bootstrap tokens for tests. */
import type { Secret } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** A signing token without expiry; `data` overrides its fields. */
export function bootstrapToken(dialect: Dialect, id: string, data: Readonly<Record<string, string>> = {}): Secret {
  const texts = { 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true', ...data };
  return {
    metadata: { name: `bootstrap-token-${id}`, namespace: dialect.namespaces.system },
    type: dialect.secretTypes.bootstrapToken,
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}
