/** Cross-origin requests of browsers (CORS), before authentication and with the headers of 1.24 (filters/cors.go). */
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { Patterns } from '#apimachinery/patterns/pattern.js';
import type { ApiResponse, PromptHandler } from '#apiserver/http/exchange.js';

export interface CrossOriginOptions {
  /** Regular expressions in RE2 syntax; a match anywhere in the origin allows it. */
  readonly allowedOrigins: readonly string[];
  readonly newUID: () => string;
}

const allowed = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
} as const;

/** An origin is a scheme, a host and a port; a longer text is none, and matching it would only cost time. */
const maxOriginLength = 1024;

/** The handler, which lets browsers of these origins read its responses. Throws for an invalid expression. */
export function withCrossOrigin(handler: PromptHandler, { allowedOrigins, newUID }: CrossOriginOptions): PromptHandler {
  const patterns = new Patterns();
  const expressions = allowedOrigins.map((text) => patterns.compile(text));
  const isAllowed = (origin: string) =>
    origin !== '' && origin.length <= maxOriginLength && expressions.some((expression) => expression.test(origin));
  return (request): MaybePromise<ApiResponse> => {
    const { headers, method } = request;
    const { origin = '' } = headers;
    if (!isAllowed(origin)) return handler(request);
    const added = { 'access-control-allow-origin': origin, ...allowed };
    // The question of a browser before the request itself; it has no credentials.
    if (method === 'OPTIONS') {
      const auditId = headers['audit-id']?.slice(0, 64) ?? newUID();
      const common = { 'audit-id': auditId, 'cache-control': 'no-cache, private' };
      return { status: 204, headers: { ...common, ...added }, body: undefined };
    }
    return andThen(handler(request), (response) => {
      Object.assign(response.headers, added);
      return response;
    });
  };
}
