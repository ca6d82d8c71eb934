/** An OpenID Connect issuer over TLS on its own port, whose keys and clock the test controls. */
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
      const documents: Record<string, unknown> = {
        '/.well-known/openid-configuration': { issuer: this.name ?? this.url, jwks_uri: `${this.url}/keys` },
        '/keys': { keys: await Promise.all(publics) },
      };
      const document = this.down ? undefined : documents[request.url ?? ''];
      response.statusCode = document === undefined ? 503 : 200;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(document ?? {}));
    });
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
