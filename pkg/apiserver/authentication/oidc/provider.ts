/**
 * The keys of an OpenID Connect provider, and the verification of its tokens. The keys are fetched for the first token, so that
 * the server starts without the provider.
 *
 * `jose` verifies: it knows every algorithm that the options allow, and selects the key. It gets the keys from here, since its
 * own fetching uses neither our certificates nor our clock.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { parseJson, readAll } from '#client/rest/response.js';
import { staticTls } from '#http/client/credentials.js';

export interface OidcProviderOptions {
  /** `https://…`, as in tokens. */
  readonly issuer: string;
  /** The provider's current CA bundle (PEM); absent: the machine's authorities. */
  readonly ca: (() => Promise<string>) | undefined;
  readonly clock: Clock;
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** Minimum time between two requests for keys, after a failure or for unknown keys; as in 1.24. */
const retryMs = 10_000;
const timeoutMs = 30_000;

export class OidcProvider {
  readonly #options: OidcProviderOptions;
  #keys: KeySet | undefined;
  #fetching: Promise<KeySet> | undefined;
  /** Monotonic. */
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #failure: unknown;

  constructor(options: OidcProviderOptions) {
    this.#options = options;
  }

  /** The claims of a token. Rejects for an invalid token, and if the provider's keys cannot be fetched. */
  async verify(token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
    const keys = this.#keys ?? (await this.#fetchKeys());
    try {
      return await verifyWith(keys, token, options);
    } catch (error) {
      const isOtherKey =
        error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
      // Fetch the keys again: providers rotate them.
      const newer = isOtherKey ? await this.#newerThan(keys) : undefined;
      if (newer === undefined) throw error;
      return verifyWith(newer, token, options);
    }
  }

  async #newerThan(keys: KeySet): Promise<KeySet | undefined> {
    if (this.#keys !== keys) return this.#keys;
    if (this.#fetchedAtMs + retryMs > this.#options.clock.monotonic()) return undefined;
    return this.#fetchKeys();
  }

  /** Concurrent tokens share one request; a failure is reported again until the next request is due. */
  async #fetchKeys(): Promise<KeySet> {
    if (this.#fetching !== undefined) return this.#fetching;
    const now = this.#options.clock.monotonic();
    if (this.#failure !== undefined && this.#fetchedAtMs + retryMs > now) throw this.#failure;
    this.#fetchedAtMs = now;
    this.#fetching = this.#fetch().then(
      (keys) => {
        this.#failure = undefined;
        this.#keys = keys;
        return keys;
      },
      (error: unknown) => {
        const why = `cannot fetch the keys of ${this.#options.issuer}: ${messageOf(error)}`;
        this.#failure = new Error(why, { cause: error });
        throw this.#failure;
      },
    );
    try {
      return await this.#fetching;
    } finally {
      this.#fetching = undefined;
    }
  }

  async #fetch(): Promise<KeySet> {
    const { issuer } = this.#options;
    const document = await this.#get(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (document['issuer'] !== issuer) {
      throw new Error(`its discovery document has issuer ${JSON.stringify(document['issuer'])}`);
    }
    const { jwks_uri: address } = document;
    if (typeof address !== 'string') throw new Error('its discovery document has no jwks_uri');
    // This throws for an invalid key set.
    return createLocalJWKSet((await this.#get(address)) as unknown as JSONWebKeySet);
  }

  async #get(address: string): Promise<Readonly<Record<string, unknown>>> {
    const { ca, clock } = this.#options;
    const url = new URL(address);
    const transport = new HttpTransport({
      server: url.origin,
      clock,
      timeoutMs,
      ...(ca === undefined ? {} : { tls: staticTls({ ca: await ca() }) }),
    });
    try {
      const path = url.pathname + url.search;
      const response = await transport.request({ method: 'GET', path, headers: { accept: 'application/json' } });
      const bytes = await readAll(response.body);
      if (response.status !== 200) throw new Error(`${address} responds with status ${response.status}`);
      const value = parseJson(bytes);
      if (typeof value !== 'object' || value === null)
        throw new Error(`${address} responds with something other than a JSON object`);
      return value as Readonly<Record<string, unknown>>;
    } finally {
      await transport.close();
    }
  }
}

/** Tries each matching key if the token does not name one. */
async function verifyWith(keys: KeySet, token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}
