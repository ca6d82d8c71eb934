/** Takes the token out of a request and asks the kinds of tokens about it. */
import { hash } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import type { TokenAuthenticator } from '#apiserver/authentication/token.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import { BoundedCache } from '#apiserver/objects/bounded-cache.js';

export interface BearerTokenOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly kinds: readonly TokenAuthenticator[];
  /** How long a token that was found good is not looked at again; 10 s in 1.24. */
  readonly cacheTtlMs?: number;
}

/** Longest token that is looked at at all. */
const maxTokenLength = 64 * 1024;

export class BearerTokenAuthenticator implements Authenticator, TokenAuthenticator {
  readonly #options: BearerTokenOptions;
  readonly #cache: BoundedCache<UserInfo>;

  constructor(options: BearerTokenOptions) {
    this.#options = options;
    this.#cache = new BoundedCache({ clock: options.clock, size: 4096, ttlMs: options.cacheTtlMs ?? 10_000 });
  }

  async authenticate(request: ApiRequest): Promise<UserInfo | undefined> {
    const token = bearerToken(request, this.#options.dialect);
    if (token === undefined) return undefined;
    const user = await this.authenticateToken(token);
    if (user === undefined) throw unauthorized();
    return user;
  }

  async authenticateToken(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined> {
    if (token.length > maxTokenLength) return undefined;
    // Tokens are secrets: only their digests are kept.
    const key = hash('sha256', audiences === undefined ? `own ${token}` : JSON.stringify([token, audiences]), 'base64');
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    let failure: { readonly error: unknown } | undefined;
    for (const kind of this.#options.kinds) {
      try {
        const user = await kind.authenticateToken(token, audiences);
        if (user === undefined) continue;
        this.#cache.set(key, user);
        return user;
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
    return undefined;
  }
}

/** How a WebSocket subprotocol begins that is no protocol but a token. It is never answered with. */
export const tokenSubprotocolPrefix = (dialect: Dialect): string =>
  `base64url.bearer.authorization.${dialect.apiDomain}.`;

/**
 * From `Authorization: Bearer …`, or, as browsers cannot set that header on WebSockets, from the subprotocol
 * `base64url.bearer.authorization.<domain>.<token in base64url>`.
 */
export function bearerToken(request: Pick<ApiRequest, 'headers'>, dialect: Dialect): string | undefined {
  const match = /^bearer +(\S+) *$/i.exec(request.headers['authorization'] ?? '');
  if (match !== null) return match[1];
  if (request.headers['upgrade']?.toLowerCase() !== 'websocket') return undefined;
  const prefix = tokenSubprotocolPrefix(dialect);
  const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((part) => part.trim());
  const encoded = protocols.find((protocol) => protocol.startsWith(prefix))?.slice(prefix.length);
  if (encoded === undefined || encoded === '') return undefined;
  return Buffer.from(encoded, 'base64url').toString('utf8');
}
