/** The token of a service account, asked for through the API and renewed before it runs out. */
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { namespaces, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { TokenSource } from '#http/client/credentials.js';

export interface ServiceAccountTokenOptions {
  /** May create service accounts, their namespace and their tokens. */
  readonly client: Client;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  /** Asked for; the server may decide otherwise. One hour unless told. */
  readonly lifetimeMs?: number;
}

interface Known {
  readonly token: string;
  /** Monotonic. */
  readonly renewAtMs: number;
  readonly expiresAtMs: number;
}

/** Part of its lifetime after which a token is renewed, as node agents do. */
const renewalPart = 0.8;

export class ServiceAccountToken implements TokenSource {
  readonly #options: ServiceAccountTokenOptions;
  #known: Known | undefined;
  #asking: Promise<Known> | undefined;

  constructor(options: ServiceAccountTokenOptions) {
    this.#options = options;
  }

  /** Makes the account, and its namespace, where they are missing. A failed renewal counts only when the token has run out. */
  async token(): Promise<string> {
    const { clock } = this.#options;
    const known = this.#known;
    if (known !== undefined && clock.monotonic() < known.renewAtMs) return known.token;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    try {
      this.#known = await this.#asking;
      return this.#known.token;
    } catch (error) {
      if (known !== undefined && clock.monotonic() < known.expiresAtMs) return known.token;
      throw error;
    }
  }

  invalidate(): void {
    this.#known = undefined;
  }

  async #ask(): Promise<Known> {
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
    const create = async (made: Promise<unknown>) => {
      try {
        await made;
      } catch (error) {
        // Somebody else was faster.
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
