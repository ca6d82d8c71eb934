/** A service account token, requested from the API and renewed before it expires. */
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { namespaces, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { TokenSource } from '#http/client/credentials.js';

export interface ServiceAccountTokenOptions {
  /** Needs the rights to create service accounts, their namespace and tokens. */
  readonly client: Client;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  /** Requested lifetime; the server may grant another. Default: one hour. */
  readonly lifetimeMs?: number;
}

interface CachedToken {
  readonly token: string;
  /** Monotonic. */
  readonly renewAtMs: number;
  readonly expiresAtMs: number;
}

/** Fraction of the lifetime after which a token is renewed, as in node agents. */
const renewalPart = 0.8;

export class ServiceAccountToken implements TokenSource {
  readonly #options: ServiceAccountTokenOptions;
  #cached: CachedToken | undefined;
  #asking: Promise<CachedToken> | undefined;

  constructor(options: ServiceAccountTokenOptions) {
    this.#options = options;
  }

  /** Creates a missing account and namespace. A failed renewal matters only once the token has expired. */
  async token(): Promise<string> {
    const { clock } = this.#options;
    const cached = this.#cached;
    if (cached !== undefined && clock.monotonic() < cached.renewAtMs) return cached.token;
    this.#asking ??= this.#requestToken().finally(() => {
      this.#asking = undefined;
    });
    try {
      this.#cached = await this.#asking;
      return this.#cached.token;
    } catch (error) {
      if (cached !== undefined && clock.monotonic() < cached.expiresAtMs) return cached.token;
      throw error;
    }
  }

  invalidate(): void {
    this.#cached = undefined;
  }

  async #requestToken(): Promise<CachedToken> {
    const { clock, lifetimeMs = 3_600_000 } = this.#options;
    const askedAtMs = clock.monotonic();
    const request = { spec: { audiences: [], expirationSeconds: Math.round(lifetimeMs / 1000) } };
    let answer: TokenRequest;
    try {
      answer = await this.#request(request);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#makeAccount();
      answer = await this.#request(request);
    }
    const token = answer.status?.token ?? '';
    if (token === '') throw new Error(`no token for service account ${this.#options.namespace}/${this.#options.name}`);
    const expires = Date.parse(answer.status?.expirationTimestamp ?? '');
    const lifeMs = Number.isNaN(expires) ? lifetimeMs : Math.max(0, expires - clock.now());
    return { token, renewAtMs: askedAtMs + lifeMs * renewalPart, expiresAtMs: askedAtMs + lifeMs };
  }

  #request(request: TokenRequest): Promise<TokenRequest> {
    const { client, namespace, name } = this.#options;
    return client.resource(serviceaccounts).createSubresource(name, 'token', request, { namespace });
  }

  async #makeAccount(): Promise<void> {
    const { client, namespace, name } = this.#options;
    const create = async (request: Promise<unknown>) => {
      try {
        await request;
      } catch (error) {
        // Another client was faster.
        if (!isAlreadyExists(error)) throw error;
      }
    };
    const account = () => create(client.resource(serviceaccounts).create({ metadata: { name, namespace } }));
    try {
      await account();
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await create(client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} }));
      await account();
    }
  }
}
