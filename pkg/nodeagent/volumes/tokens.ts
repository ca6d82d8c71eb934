/** Service account tokens bound to pods: asked for once, renewed before they end. */
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
  /** When it was asked for, by both clocks. */
  readonly asked: { readonly wallMs: number; readonly monotonicMs: number };
  readonly lifeMs: number;
  readonly renewAfterMs: number;
  /** By the clock that is never set. */
  readonly renewAt: number;
}

/** Of their life, after which tokens are renewed; a day at the latest. */
const renewFraction = 0.8;
const maxAgeMs = 24 * 60 * 60 * 1000;
/** After a failure. */
const askAgainMs = 60_000;
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

  /** A token for the pod, and the instant of the clock that is never set (ms) when the next is due. Throws StatusError. */
  async get(
    pod: Pod,
    request: { audience: string; expirationSeconds: number },
  ): Promise<{ token: string; renewAt: number }> {
    const uid = pod.metadata.uid ?? '';
    const known = this.#tokens.get(uid) ?? new Map<string, Token>();
    this.#tokens.set(uid, known);
    const key = JSON.stringify(request);
    const old = known.get(key);
    if (old !== undefined && this.#ageMs(old) < old.renewAfterMs) return old;
    try {
      const fresh = await this.#ask(pod, request);
      known.set(key, fresh);
      return fresh;
    } catch (error) {
      // An old token is better than none for as long as it lives; it is tried again soon.
      if (old !== undefined && this.#ageMs(old) < old.lifeMs) {
        return { token: old.token, renewAt: this.#clock.monotonic() + askAgainMs };
      }
      throw error;
    }
  }

  /** By the clock that says more: the wall clock may be set back, the other stands still while the machine sleeps. */
  #ageMs({ asked }: Token): number {
    return Math.max(this.#clock.now() - asked.wallMs, this.#clock.monotonic() - asked.monotonicMs);
  }

  async #ask(pod: Pod, request: { audience: string; expirationSeconds: number }): Promise<Token> {
    const asked = { wallMs: this.#clock.now(), monotonicMs: this.#clock.monotonic() };
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const answer = await this.#client.resource(serviceaccounts).createSubresource<TokenRequest>(
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
    const token = answer.status?.token ?? '';
    // The server says how long it lives; when that ends is told by the server's clock, which need not be this one's.
    const lifeMs = Number(answer.spec?.expirationSeconds ?? request.expirationSeconds) * 1000;
    const renewAfterMs = Math.min(lifeMs * renewFraction, maxAgeMs);
    return { token, asked, lifeMs, renewAfterMs, renewAt: asked.monotonicMs + renewAfterMs };
  }

  release(podUID: string): void {
    this.#tokens.delete(podUID);
  }
}
