/** Requests service account tokens bound to pods, caches them, and renews them before they expire. */
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';

export interface TokenManagerOptions {
  readonly client: Client;
  readonly clock: Clock;
}

interface Token {
  readonly token: string;
  /** RFC 3339, as the server says it. */
  readonly expirationTimestamp: string;
  /** Time of the request, by both clocks. */
  readonly requestedAt: { readonly wallMs: number; readonly monotonicMs: number };
  readonly lifeMs: number;
  readonly renewAfterMs: number;
  /** Monotonic ms. */
  readonly renewAt: number;
}

/** Tokens are renewed after this fraction of their lifetime, but at the latest after a day. */
const renewFraction = 0.8;
const maxAgeMs = 24 * 60 * 60 * 1000;
/** Retry delay after a failure. */
const retryMs = 60_000;
export const defaultExpirationSeconds = 3600;

export class TokenManager {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #dialect: Dialect;
  /** Pod UID → request → token. */
  readonly #tokens = new Map<string, Map<string, Token>>();

  constructor(options: TokenManagerOptions) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#dialect = options.client.dialect;
  }

  /** A token for the pod, and when to renew it (monotonic ms). Throws StatusError. */
  async get(
    pod: Pod,
    request: { audience: string; expirationSeconds: number },
  ): Promise<{ token: string; expirationTimestamp: string; renewAt: number }> {
    const uid = pod.metadata.uid ?? '';
    const podTokens = this.#tokens.get(uid) ?? new Map<string, Token>();
    this.#tokens.set(uid, podTokens);
    const key = JSON.stringify(request);
    const old = podTokens.get(key);
    if (old !== undefined && this.#ageMs(old) < old.renewAfterMs) return old;
    try {
      const fresh = await this.#request(pod, request);
      podTokens.set(key, fresh);
      return fresh;
    } catch (error) {
      // Use the old token while it is valid, and retry soon.
      if (old !== undefined && this.#ageMs(old) < old.lifeMs) {
        return { ...old, renewAt: this.#clock.monotonic() + retryMs };
      }
      throw error;
    }
  }

  /** The larger of two ages: the wall clock may be set back, and the monotonic clock stops while the machine sleeps. */
  #ageMs({ requestedAt }: Token): number {
    return Math.max(this.#clock.now() - requestedAt.wallMs, this.#clock.monotonic() - requestedAt.monotonicMs);
  }

  async #request(pod: Pod, request: { audience: string; expirationSeconds: number }): Promise<Token> {
    const requestedAt = { wallMs: this.#clock.now(), monotonicMs: this.#clock.monotonic() };
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const response = await this.#client.resource(serviceaccounts).createSubresource<TokenRequest>(
      pod.spec.serviceAccountName ?? 'default',
      'token',
      {
        apiVersion: this.#dialect.apiVersion('authentication', 'v1'),
        kind: 'TokenRequest',
        spec: {
          audiences: request.audience === '' ? [] : [request.audience],
          expirationSeconds: request.expirationSeconds,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
        },
      } as TokenRequest,
      { namespace },
    );
    const { token = '', expirationTimestamp = '' } = response.status ?? {};
    // Uses the lifetime, not the expiration time, since the server's clock may differ.
    const lifeMs = Number(response.spec?.expirationSeconds ?? request.expirationSeconds) * 1000;
    const renewAfterMs = Math.min(lifeMs * renewFraction, maxAgeMs);
    return {
      token,
      expirationTimestamp,
      requestedAt,
      lifeMs,
      renewAfterMs,
      renewAt: requestedAt.monotonicMs + renewAfterMs,
    };
  }

  release(podUID: string): void {
    this.#tokens.delete(podUID);
  }
}
