/** Authenticates bearer tokens by the authenticators of each kind of token, with a cache. */
import { hash } from 'node:crypto';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import {
  type Authenticator,
  type ReviewedToken,
  reviewToken,
  type TokenAuthenticator,
} from '#apiserver/authentication/authenticator.js';
import type { TokenCacheMetrics } from '#apiserver/authentication/metrics.js';
import { joinedRefusals } from '#apiserver/authentication/token-refusal.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import { tokenSubprotocolPrefix } from '#apiserver/http/websocket.js';

export interface BearerTokenOptions {
  readonly dialect: Dialect;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly kinds: readonly TokenAuthenticator[];
  /** How long a valid token is cached; 10 s in 1.24. */
  readonly cacheTtlMs?: number;
  readonly metrics: TokenCacheMetrics;
}

/** Longer tokens are invalid. */
const maxTokenLength = 64 * 1024;
const defaultTtlMs = 10_000;

interface CachedUser extends ReviewedToken {
  /** Monotonic ms. */
  readonly untilMs: number;
}

export class BearerTokenAuthenticator implements Authenticator, TokenAuthenticator {
  readonly #options: BearerTokenOptions;
  readonly #ttlMs: number;
  readonly #cache: LruCache<string, CachedUser>;
  /** The last header of each connection: a repeated header need not be hashed again. */
  readonly #recent = new WeakMap<object, CachedUser & { readonly header: string }>();

  constructor(options: BearerTokenOptions) {
    this.#options = options;
    this.#ttlMs = options.cacheTtlMs ?? defaultTtlMs;
    this.#cache = new LruCache({ limit: 4096, age: { clock: options.clock, ttlMs: () => this.#ttlMs } });
  }

  authenticate(request: ApiRequest): MaybePromise<UserInfo | undefined> {
    const header = request.headers['authorization'];
    const recent = request.peer === undefined ? undefined : this.#recent.get(request.peer);
    if (recent !== undefined && recent.header === header && this.#options.clock.monotonic() < recent.untilMs) {
      this.#options.metrics.request('hit', 0);
      return recent.user;
    }
    const token = bearerToken(request, this.#options.dialect);
    return token === undefined ? undefined : this.#userOf(token, request);
  }

  async authenticateToken(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined> {
    return (await this.#lookUp(token, audiences))?.user;
  }

  reviewToken(token: string, audiences?: readonly string[]): Promise<ReviewedToken | undefined> {
    return this.#lookUp(token, audiences);
  }

  async #userOf(token: string, { peer, headers }: ApiRequest): Promise<UserInfo> {
    const cached = await this.#lookUp(token, undefined);
    if (cached === undefined) throw unauthorized();
    const header = headers['authorization'];
    if (peer !== undefined && header !== undefined) this.#recent.set(peer, { ...cached, header });
    return cached.user;
  }

  async #lookUp(token: string, audiences: readonly string[] | undefined): Promise<CachedUser | undefined> {
    if (token.length > maxTokenLength) return undefined;
    // Tokens are secrets: cache only their digests.
    const key = hash('sha256', audiences === undefined ? `own ${token}` : JSON.stringify([token, audiences]), 'base64');
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonic();
    const cached = this.#cache.get(key);
    if (cached !== undefined) {
      metrics.request('hit', clock.monotonic() - startedMs);
      return cached;
    }
    metrics.active(1);
    try {
      const verified = await this.#verify(key, token, audiences);
      metrics.fetch('ok');
      return verified;
    } catch (error) {
      metrics.fetch('error');
      throw error;
    } finally {
      metrics.active(-1);
      metrics.request('miss', clock.monotonic() - startedMs);
    }
  }

  async #verify(key: string, token: string, audiences: readonly string[] | undefined): Promise<CachedUser | undefined> {
    const errors: unknown[] = [];
    for (const kind of this.#options.kinds) {
      try {
        const answer = await reviewToken(kind, token, audiences);
        if (answer === undefined) continue;
        const verified = { ...answer, untilMs: this.#options.clock.monotonic() + this.#ttlMs };
        this.#cache.set(key, verified);
        return verified;
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw joinedRefusals(errors);
    return undefined;
  }
}

/**
 * From `Authorization: Bearer …` or, since browsers cannot set that header on WebSockets, from the subprotocol
 * `base64url.bearer.authorization.<domain>.<token in base64url>`.
 */
function bearerToken(request: Pick<ApiRequest, 'headers'>, dialect: Dialect): string | undefined {
  const match = /^bearer +(\S+) *$/i.exec(request.headers['authorization'] ?? '');
  if (match !== null) return match[1];
  if (request.headers['upgrade']?.toLowerCase() !== 'websocket') return undefined;
  const prefix = tokenSubprotocolPrefix(dialect);
  const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((part) => part.trim());
  const encoded = protocols.find((protocol) => protocol.startsWith(prefix))?.slice(prefix.length);
  if (encoded === undefined || encoded === '') return undefined;
  return Buffer.from(encoded, 'base64url').toString('utf8');
}
