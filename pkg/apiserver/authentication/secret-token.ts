/** Authenticates tokens stored in secrets of the service account token type, as long as the secret contains the token. */
import { timingSafeEqual } from 'node:crypto';
import { secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { readSecretTokenClaims, type SecretTokenClaims, secretTokenIssuer } from '#api/core/v1/secret/token-claims.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import type { TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import { serviceAccountUser } from '#apiserver/serviceaccount/claims.js';
import { type JwtKey, readJwt, verifyJwt } from '#pki/jwt.js';

export interface SecretTokenOptions {
  readonly dialect: Dialect;
  readonly keys: readonly JwtKey[];
  /** Audiences of this API server; stored tokens name no audience and are valid for these only. */
  readonly audiences: readonly string[];
  readonly reader: ObjectReader;
  /** Whether secret and account are looked up (`--service-account-lookup`). */
  readonly lookup: boolean;
  /** Called for each use. */
  readonly used: () => void;
}

export class SecretTokenAuthenticator implements TokenAuthenticator {
  readonly #options: SecretTokenOptions;

  constructor(options: SecretTokenOptions) {
    this.#options = options;
  }

  async authenticateToken(token: string, audiences = this.#options.audiences): Promise<UserInfo | undefined> {
    const { dialect, keys, lookup, used } = this.#options;
    if (readJwt(token)?.claims['iss'] !== secretTokenIssuer(dialect)) return undefined;
    const verified = verifyJwt(keys, token);
    const claims = verified === undefined ? undefined : readSecretTokenClaims(dialect, verified);
    if (claims === undefined) throw unauthorized();
    if (lookup && !(await this.#isCurrent(token, claims))) throw unauthorized();
    used();
    if (!audiences.some((audience) => this.#options.audiences.includes(audience))) throw unauthorized();
    const { serviceAccounts } = dialect.groups;
    return {
      name: serviceAccountUser(claims.namespace, claims.accountName),
      uid: claims.accountUID,
      groups: [serviceAccounts, `${serviceAccounts}:${claims.namespace}`],
      method: 'secret-token',
    };
  }

  /** Whether the secret still contains the token, and the account still exists. */
  async #isCurrent(
    token: string,
    { namespace, secretName, accountName, accountUID }: SecretTokenClaims,
  ): Promise<boolean> {
    const { reader } = this.#options;
    const presented = Buffer.from(token);
    const holds = async (mode?: 'latest') => {
      const [secret, account] = await Promise.all([
        reader.get(secrets, namespace, secretName, mode),
        reader.get(serviceaccounts, namespace, accountName, mode),
      ]);
      if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return false;
      if (account?.metadata.uid !== accountUID || account.metadata.deletionTimestamp !== undefined) return false;
      const stored = Buffer.from(secret.data?.['token'] ?? '', 'base64');
      return stored.length === presented.length && timingSafeEqual(stored, presented);
    };
    // This server's cache may lag behind a write through another server.
    return (await holds()) || (await holds('latest'));
  }
}
