/**
 * Remembers the answers about tokens for a time, refusals without an error included. Concurrent requests with the same token share
 * one call.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { ReviewedToken, TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import type { TokenCacheMetrics } from '#apiserver/authentication/metrics.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

export interface TokenCacheOptions {
  readonly authenticator: Required<TokenAuthenticator>;
  readonly clock: Clock;
  /** 0: nothing is cached. */
  readonly ttlMs: number;
  /** Secret key of the digests: tokens are not in memory, and no client can choose tokens with equal digests. */
  readonly key: Buffer;
  readonly metrics: TokenCacheMetrics;
}

/** As many entries as 1.24 expects clients. */
const maxEntries = 32 * 1024;

interface CachedAnswer {
  readonly answer: ReviewedToken | undefined;
}

export class TokenCache implements TokenAuthenticator {
  readonly #options: TokenCacheOptions;
  readonly #cache: LruCache<string, CachedAnswer>;
  readonly #pending = new Map<string, Promise<ReviewedToken | undefined>>();

  constructor(options: TokenCacheOptions) {
    this.#options = options;
    const { clock, ttlMs } = options;
    this.#cache = new LruCache({ limit: maxEntries, age: { clock, ttlMs: () => ttlMs } });
  }

  async authenticateToken(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined> {
    return (await this.reviewToken(token, audiences))?.user;
  }

  async reviewToken(token: string, audiences?: readonly string[]): Promise<ReviewedToken | undefined> {
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonic();
    const key = this.#digest(token, audiences);
    const cached = this.#cache.get(key);
    if (cached !== undefined) {
      metrics.request('hit', clock.monotonic() - startedMs);
      return cached.answer;
    }
    try {
      return await this.#shared(key, token, audiences);
    } finally {
      metrics.request('miss', clock.monotonic() - startedMs);
    }
  }

  #shared(key: string, token: string, audiences: readonly string[] | undefined): Promise<ReviewedToken | undefined> {
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const answer = this.#ask(key, token, audiences).finally(() => this.#pending.delete(key));
    this.#pending.set(key, answer);
    return answer;
  }

  async #ask(key: string, token: string, audiences: readonly string[] | undefined): Promise<ReviewedToken | undefined> {
    const { authenticator, metrics } = this.#options;
    metrics.active(1);
    try {
      const answer = await authenticator.reviewToken(token, audiences);
      metrics.fetch('ok');
      this.#cache.set(key, { answer });
      return answer;
    } catch (error) {
      metrics.fetch('error');
      throw error;
    } finally {
      metrics.active(-1);
    }
  }

  #digest(token: string, audiences: readonly string[] | undefined): string {
    const text = JSON.stringify([token, audiences ?? null]);
    return createHmac('sha256', this.#options.key).update(text).digest('base64');
  }
}
