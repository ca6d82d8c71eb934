/**
 * Logs the dashboard's users in at an OpenID Connect provider: the authorization code flow with PKCE (RFC 7636). What has to be
 * kept between the two steps is in a cookie that no script can read and no other site can send, so that every API server can
 * finish what another one began. The provider's ID token goes to the page, which sends it like any other token.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { parseJson, readAll } from '#client/rest/response.js';
import { staticTls } from '#http/client/credentials.js';
import { readJwt } from '#pki/jwt.js';

export interface CodeExchangeOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent: a public client, which PKCE alone protects. */
  readonly clientSecret: (() => Promise<string>) | undefined;
  readonly scopes: readonly string[];
  /** The provider's current CA bundle (PEM); absent: the machine's authorities. */
  readonly ca: (() => Promise<string>) | undefined;
  readonly clock: Clock;
}

/** A login that has begun. */
export interface BegunLogin {
  /** Where the browser goes. */
  readonly address: string;
  /** What `finish` needs. */
  readonly kept: string;
}

/** Thrown for a login that the browser, the user or the provider has not completed as it should. */
export class LoginError extends Error {
  override readonly name = 'LoginError';
}

interface Endpoints {
  readonly authorization: string;
  readonly token: string;
}

const timeoutMs = 30_000;
/** Endpoints are read again after this time, because providers move. */
const freshMs = 600_000;
/** Requests to the provider at once: anonymous clients can begin logins. */
const maxExchanges = 20;
const secret = () => randomBytes(32).toString('base64url');

export class CodeExchange {
  readonly #options: CodeExchangeOptions;
  #endpoints: { readonly value: Promise<Endpoints>; readonly atMs: number } | undefined;
  #exchanges = 0;

  constructor(options: CodeExchangeOptions) {
    this.#options = options;
  }

  /** `redirect`: the address of the page to which the provider sends the browser back. Rejects if the provider does not answer. */
  async begin(redirect: string): Promise<BegunLogin> {
    const { clientId, scopes } = this.#options;
    const { authorization } = await this.#provider();
    const [state, verifier, nonce] = [secret(), secret(), secret()];
    const address = new URL(authorization);
    const parameters = {
      ...{ response_type: 'code', client_id: clientId, redirect_uri: redirect, scope: scopes.join(' '), state, nonce },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    return { address: address.href, kept: [state, verifier, nonce].join('.') };
  }

  /** The ID token for a code. Rejects with LoginError for what does not belong together, and if the provider refuses. */
  async finish(kept: string, answer: { readonly code: string; readonly state: string; readonly redirect: string }) {
    const [state = '', verifier = '', nonce = ''] = kept.split('.');
    if (state === '' || !isSame(state, answer.state)) throw new LoginError('this browser did not begin this login');
    if (this.#exchanges >= maxExchanges) throw new LoginError('too many logins at once, try again');
    this.#exchanges++;
    try {
      const { token } = await this.#provider();
      const { clientId, clientSecret } = this.#options;
      const confidential = await clientSecret?.();
      const form = {
        ...{ grant_type: 'authorization_code', code: answer.code, redirect_uri: answer.redirect },
        ...{ code_verifier: verifier, client_id: clientId },
      };
      const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(confidential ?? '')}`;
      const headers =
        confidential === undefined ? {} : { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
      const { id_token: idToken } = await this.#request(token, { form, headers });
      if (typeof idToken !== 'string' || idToken === '') throw new LoginError('the provider sent no ID token');
      // Its signature is verified with the page's first request.
      if (readJwt(idToken)?.claims['nonce'] !== nonce) throw new LoginError('the ID token is of another login');
      return idToken;
    } finally {
      this.#exchanges--;
    }
  }

  #provider(): Promise<Endpoints> {
    const nowMs = this.#options.clock.monotonic();
    if (this.#endpoints !== undefined && this.#endpoints.atMs + freshMs > nowMs) return this.#endpoints.value;
    const value = this.#discover();
    this.#endpoints = { value, atMs: nowMs };
    value.catch(() => {
      if (this.#endpoints?.value === value) this.#endpoints = undefined;
    });
    return value;
  }

  async #discover(): Promise<Endpoints> {
    const { issuer } = this.#options;
    const document = await this.#request(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const { issuer: name, authorization_endpoint: authorization, token_endpoint: token } = document;
    if (name !== issuer) throw new LoginError('the provider’s discovery document is of another issuer');
    if (!isSecure(authorization) || !isSecure(token))
      throw new LoginError('the provider’s discovery document lacks the endpoints of a login');
    return { authorization, token };
  }

  /** Sends a GET, or a POST of the form. */
  async #request(
    address: string,
    post?: { readonly form: Readonly<Record<string, string>>; readonly headers: Readonly<Record<string, string>> },
  ): Promise<Readonly<Record<string, unknown>>> {
    const { ca, clock } = this.#options;
    const url = new URL(address);
    const transport = new HttpTransport({
      ...{ server: url.origin, clock, timeoutMs },
      ...(ca === undefined ? {} : { tls: staticTls({ ca: await ca() }) }),
    });
    try {
      const path = url.pathname + url.search;
      const accept = 'application/json';
      const response = await transport.request(
        post === undefined
          ? { method: 'GET', path, headers: { accept } }
          : {
              ...{ method: 'POST', path, body: new URLSearchParams(post.form).toString() },
              headers: { accept, 'content-type': 'application/x-www-form-urlencoded', ...post.headers },
            },
      );
      const value = parsed(await readAll(response.body));
      if (response.status === 200 && value !== undefined) return value;
      const { error } = value ?? {};
      const why = typeof error === 'string' ? error.slice(0, 100) : `status ${response.status}`;
      throw new LoginError(`the provider refused the login: ${why}`);
    } finally {
      await transport.close();
    }
  }
}

/** Undefined for anything but a JSON object. */
function parsed(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJson(bytes);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    // A page of a proxy.
    return undefined;
  }
}

function isSecure(address: unknown): address is string {
  return typeof address === 'string' && URL.canParse(address) && new URL(address).protocol === 'https:';
}

function isSame(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}
