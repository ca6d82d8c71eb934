/**
 * An OpenID Connect provider: where it publishes its keys, and which tokens they signed. Asked for the first time when the
 * first token of it comes, so that the server starts without it.
 *
 * `jose` verifies: it knows every algorithm that the options may name, and which key of a set is meant. It gets its keys
 * from here, since its own way of fetching them knows neither our certificates nor our clock.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { parseJson, readAll } from '#client/rest/response.js';
import { staticTls } from '#http/client/credentials.js';

export interface OidcProviderOptions {
  /** `https://…`, as tokens name it. */
  readonly issuer: string;
  /** PEM of the authorities that vouch for it now; those of the machine unless given. */
  readonly ca: (() => Promise<string>) | undefined;
  readonly clock: Clock;
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** As often a provider that does not answer, or whose keys do not fit, is asked again; as in 1.24. */
const retryMs = 10_000;
const timeoutMs = 30_000;

export class OidcProvider {
  readonly #options: OidcProviderOptions;
  #keys: KeySet | undefined;
  #asking: Promise<KeySet> | undefined;
  /** Of the monotonic clock, ms. */
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #failure: unknown;

  constructor(options: OidcProviderOptions) {
    this.#options = options;
  }

  /** The claims of a token. Rejects where it is not good, and where the provider's keys cannot be had. */
  async verify(token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
    const keys = this.#keys ?? (await this.#ask());
    try {
      return await verifyWith(keys, token, options);
    } catch (error) {
      const isOtherKey =
        error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
      // Providers change their keys.
      const newer = isOtherKey ? await this.#newerThan(keys) : undefined;
      if (newer === undefined) throw error;
      return verifyWith(newer, token, options);
    }
  }

  async #newerThan(keys: KeySet): Promise<KeySet | undefined> {
    if (this.#keys !== keys) return this.#keys;
    if (this.#askedAtMs + retryMs > this.#options.clock.monotonic()) return undefined;
    return this.#ask();
  }

  /** Many tokens wait for one answer; after a failure they get it again until it is time to ask again. */
  async #ask(): Promise<KeySet> {
    if (this.#asking !== undefined) return this.#asking;
    const now = this.#options.clock.monotonic();
    if (this.#failure !== undefined && this.#askedAtMs + retryMs > now) throw this.#failure;
    this.#askedAtMs = now;
    this.#asking = this.#fetch().then(
      (keys) => {
        this.#failure = undefined;
        this.#keys = keys;
        return keys;
      },
      (error: unknown) => {
        const why = `the keys of ${this.#options.issuer} cannot be had: ${messageOf(error)}`;
        this.#failure = new Error(why, { cause: error });
        throw this.#failure;
      },
    );
    try {
      return await this.#asking;
    } finally {
      this.#asking = undefined;
    }
  }

  async #fetch(): Promise<KeySet> {
    const { issuer } = this.#options;
    const document = await this.#get(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (document['issuer'] !== issuer) {
      throw new Error(`it says to be ${JSON.stringify(document['issuer'])}, which its tokens are not of`);
    }
    const { jwks_uri: address } = document;
    if (typeof address !== 'string') throw new Error('it names no jwks_uri');
    // Throws where the answer is no key set.
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
      if (response.status !== 200) throw new Error(`${address} answers ${response.status}`);
      const value = parseJson(bytes);
      if (typeof value !== 'object' || value === null) throw new Error(`${address} answers with no object`);
      return value as Readonly<Record<string, unknown>>;
    } finally {
      await transport.close();
    }
  }
}

/** Where the token names no key, each that might be meant is tried. */
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
