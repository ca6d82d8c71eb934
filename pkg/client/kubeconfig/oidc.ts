/**
 * ID tokens of an OpenID Connect provider (auth-provider `oidc`), renewed with the refresh token when they expire. New
 * tokens are written back to the file, since a provider may accept each refresh token only once.
 */
import { randomUUID } from 'node:crypto';
import { rename, stat, writeFile } from 'node:fs/promises';
import { isMap, isSeq, parseDocument } from 'yaml';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { CredentialError } from '#client/kubeconfig/exec-credentials.js';
import { isRecord, KubeconfigError } from '#client/kubeconfig/file.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { readAll } from '#client/rest/response.js';
import type { ReadFile } from '#daemon/certificates/certificate-files.js';
import { FileTls, type TokenSource } from '#http/client/credentials.js';

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly idToken: string;
  readonly refreshToken: string;
  readonly ca: { readonly inline: Buffer | undefined; readonly file: string | undefined };
}

/** Throws KubeconfigError if the provider or the client ID is missing. */
export function oidcConfigOf(config: Readonly<Record<string, string>>, where: string): OidcConfig {
  const setting = (key: string) => config[key] ?? '';
  for (const key of ['idp-issuer-url', 'client-id']) {
    if (setting(key) === '') throw new KubeconfigError(`${where}: auth-provider oidc: must provide ${key}`);
  }
  const data = setting('idp-certificate-authority-data');
  const file = setting('idp-certificate-authority');
  return {
    issuer: setting('idp-issuer-url'),
    clientId: setting('client-id'),
    clientSecret: setting('client-secret'),
    idToken: setting('id-token'),
    refreshToken: setting('refresh-token'),
    ca:
      data === ''
        ? { inline: undefined, file: file || undefined }
        : { inline: Buffer.from(data, 'base64'), file: undefined },
  };
}

export interface OidcContext {
  readonly clock: Clock;
  readonly readFile: ReadFile;
  /** User entry and file that receive new tokens; without a file they stay in memory. */
  readonly name: string;
  readonly file: string | undefined;
  readonly proxy: URL | undefined;
}

/** Tokens that expire within this time are renewed, to leave time for the request. */
const expiryDeltaMs = 10_000;

export class OidcToken implements TokenSource {
  readonly #config: OidcConfig;
  readonly #surroundings: OidcContext;
  #idToken: string;
  #refreshToken: string;
  #asking: Promise<string> | undefined;

  constructor(config: OidcConfig, context: OidcContext) {
    this.#config = config;
    this.#surroundings = context;
    this.#idToken = config.idToken;
    this.#refreshToken = config.refreshToken;
  }

  /** Rejects with CredentialError if there is no valid token and it cannot be renewed. */
  async token(): Promise<string> {
    if (expiresAtMs(this.#idToken) - expiryDeltaMs > this.#surroundings.clock.now()) return this.#idToken;
    this.#asking ??= this.#renew().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Does nothing: the provider would return the same token for one that is refused before its expiry. */
  invalidate(): void {}

  async #renew(): Promise<string> {
    if (this.#refreshToken === '') {
      throw new CredentialError('oidc: no valid id-token, and cannot refresh without refresh-token');
    }
    try {
      const { token_endpoint: endpoint } = await this.#request(
        `${this.#config.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
      );
      if (typeof endpoint !== 'string') throw new Error('the provider configuration has no token_endpoint');
      const answer = await this.#request(endpoint, { grant_type: 'refresh_token', refresh_token: this.#refreshToken });
      const { id_token: idToken, refresh_token: refreshToken } = answer;
      if (typeof idToken !== 'string' || idToken === '') throw new Error('token response did not contain an id_token');
      this.#idToken = idToken;
      const renewed: Record<string, string> = { 'id-token': idToken };
      if (typeof refreshToken === 'string' && refreshToken !== '' && refreshToken !== this.#refreshToken) {
        this.#refreshToken = refreshToken;
        renewed['refresh-token'] = refreshToken;
      }
      await this.#persist(renewed);
      return idToken;
    } catch (error) {
      throw new CredentialError(`oidc: failed to refresh token: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Sends a GET, or a POST if there is a form. Rejects unless the response is a JSON object with status 200. */
  async #request(address: string, form?: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
    const { clock, readFile, proxy } = this.#surroundings;
    const { ca, clientId, clientSecret } = this.#config;
    const url = new URL(address);
    const transport = new HttpTransport({
      server: url.origin,
      clock,
      tls: new FileTls({ inline: { ca: ca.inline }, files: { ca: ca.file }, clock, readFile }),
      ...(proxy === undefined ? {} : { proxy }),
    });
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    try {
      const response = await transport.request({
        method: form === undefined ? 'GET' : 'POST',
        path: url.pathname + url.search,
        headers:
          form === undefined
            ? { accept: 'application/json' }
            : {
                accept: 'application/json',
                'content-type': 'application/x-www-form-urlencoded',
                ...(clientSecret === '' ? {} : { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }),
              },
        ...(form === undefined
          ? {}
          : { body: new URLSearchParams(clientSecret === '' ? { ...form, client_id: clientId } : form).toString() }),
      });
      const text = (await readAll(response.body)).toString('utf8');
      if (response.status !== 200) throw new Error(`${url.origin} answered ${response.status}: ${text.slice(0, 200)}`);
      const value: unknown = JSON.parse(text);
      if (!isRecord(value)) throw new Error(`${url.origin} did not answer with a JSON object`);
      return value;
    } finally {
      await transport.close();
    }
  }

  /** Changes only these values; comments and order of the file stay. */
  async #persist(values: Readonly<Record<string, string>>): Promise<void> {
    const { file, name, readFile } = this.#surroundings;
    if (file === undefined) return;
    const document = parseDocument((await readFile(file)).toString('utf8'));
    const users = document.get('users');
    if (!isSeq(users)) throw new Error(`${file} no longer has users`);
    const index = users.items.findIndex((item) => isMap(item) && item.get('name') === name);
    if (index < 0) throw new Error(`${file} no longer has user ${JSON.stringify(name)}`);
    for (const [key, value] of Object.entries(values)) {
      document.setIn(['users', index, 'user', 'auth-provider', 'config', key], value);
    }
    const { mode } = await stat(file);
    const aside = `${file}.${randomUUID()}`;
    await writeFile(aside, document.toString(), { mode });
    await rename(aside, file);
  }
}

/** The token's `exp` in milliseconds; 0 for an invalid token. */
function expiresAtMs(token: string): number {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return isRecord(claims) && typeof claims['exp'] === 'number' ? claims['exp'] * 1000 : 0;
  } catch {
    // Not a token: request a new one.
    return 0;
  }
}
