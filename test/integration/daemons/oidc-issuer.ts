/** An OpenID Connect issuer over TLS on its own port, whose keys and clock the test controls. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Test } from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { listening, testAuthority } from '#client/testing/tls-server.js';

export type Claims = Readonly<Record<string, unknown>>;
type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

export const algorithm = 'RS256';
export const pair = (): Promise<KeyPair> => generateKeyPair(algorithm, { modulusLength: 2048 });

export class Issuer {
  readonly keys = new Map<string, KeyPair>();
  readonly requestedPaths: string[] = [];
  /** PEM of the authority that signed its certificate. */
  ca = '';
  url = '';
  /** The issuer name in its discovery document. */
  name: string | undefined;
  nowMs: number;
  down = false;
  /** Who logs in; undefined: the user declines. */
  login: Claims | undefined;
  /** Parameters of the last login's two steps. */
  readonly received: { authorization?: URLSearchParams; token?: URLSearchParams; secret?: string | undefined } = {};
  /** Clock for the verifier of its tokens. */
  readonly clock: Clock;

  constructor(startMs: number) {
    this.nowMs = startMs;
    this.clock = { ...realClock, now: () => this.nowMs, monotonic: () => this.nowMs - startMs };
  }

  /** Serves with a key named `one`. Closes at the end of the test. */
  async listen(t: Test): Promise<this> {
    const authority = await testAuthority();
    this.keys.set('one', await pair());
    this.ca = authority.certificate;
    this.url = `https://127.0.0.1:${await listening(t, this.#server(authority.serving))}`;
    return this;
  }

  #server(serving: { cert: string; key: string }): Server {
    return createServer(serving, async (request, response) => {
      this.requestedPaths.push(request.url ?? '');
      const publics = [...this.keys].map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid }));
      const { pathname, searchParams } = new URL(request.url ?? '', this.url);
      if (pathname === '/authorize') {
        response.writeHead(302, { location: this.#authorize(searchParams) }).end();
        return;
      }
      const documents: Record<string, unknown> = {
        '/.well-known/openid-configuration': {
          ...{ issuer: this.name ?? this.url, jwks_uri: `${this.url}/keys` },
          ...{ authorization_endpoint: `${this.url}/authorize`, token_endpoint: `${this.url}/token` },
        },
        '/keys': { keys: await Promise.all(publics) },
      };
      const isExchange = pathname === '/token' && request.method === 'POST';
      const exchanged = isExchange ? await this.#exchange(request) : undefined;
      const document = this.down ? undefined : isExchange ? exchanged : documents[request.url ?? ''];
      response.statusCode = isExchange && document === undefined ? 400 : document === undefined ? 503 : 200;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(document ?? {}));
    });
  }

  /** Where the browser goes after the user has logged in. */
  #authorize(parameters: URLSearchParams): string {
    this.received.authorization = parameters;
    const back = new URL(parameters.get('redirect_uri') ?? '');
    back.searchParams.set('state', parameters.get('state') ?? '');
    if (this.login === undefined) back.searchParams.set('error', 'access_denied');
    else back.searchParams.set('code', 'one-time-code');
    return back.href;
  }

  /** RFC 7636, 4.6: the verifier must be that of the challenge. */
  async #exchange(request: IncomingMessage): Promise<object | undefined> {
    const form = new URLSearchParams((await request.setEncoding('utf8').toArray()).join(''));
    this.received.token = form;
    this.received.secret = request.headers.authorization;
    const { authorization } = this.received;
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight =
      form.get('code') === 'one-time-code' &&
      challenge === authorization?.get('code_challenge') &&
      form.get('redirect_uri') === authorization.get('redirect_uri');
    if (!isRight) return undefined;
    return { token_type: 'Bearer', id_token: await this.token({ nonce: authorization.get('nonce'), ...this.login }) };
  }

  /** A token that is valid for an hour unless the claims say otherwise. */
  token(claims: Claims = {}, kid = 'one', signer = this.keys.get(kid)): Promise<string> {
    if (signer === undefined) throw new Error(`no key ${kid}`);
    const nowSeconds = Math.floor(this.nowMs / 1000);
    return new SignJWT({ iss: this.url, aud: 'cluster', sub: 'jane', exp: nowSeconds + 3600, ...claims })
      .setProtectedHeader({ alg: algorithm, ...(kid === '' ? {} : { kid }) })
      .sign(signer.privateKey);
  }
}
