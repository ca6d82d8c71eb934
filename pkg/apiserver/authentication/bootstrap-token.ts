/** Authenticates bootstrap tokens (`<id>.<secret>`), which are secrets in the system namespace. */
import { timingSafeEqual } from 'node:crypto';
import { secrets } from '#api/core/v1/resources.gen.js';
import {
  bootstrapTokenExpiryMs,
  bootstrapTokenName,
  bootstrapTokenText,
  parseBootstrapToken,
} from '#api/core/v1/secret/bootstrap-token.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

export interface BootstrapTokenOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly reader: ObjectReader;
}

const groupPattern = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export class BootstrapTokenAuthenticator implements TokenAuthenticator {
  readonly #options: BootstrapTokenOptions;

  constructor(options: BootstrapTokenOptions) {
    this.#options = options;
  }

  async authenticateToken(token: string): Promise<UserInfo | undefined> {
    const { dialect, reader, clock } = this.#options;
    const parsed = parseBootstrapToken(token);
    if (parsed === undefined) return undefined;
    const { id, secret: tokenSecret } = parsed;
    const secret = await reader.get(secrets, dialect.namespaces.system, bootstrapTokenName(id));
    if (secret?.type !== dialect.secretTypes.bootstrapToken || secret.metadata.deletionTimestamp !== undefined)
      return undefined;
    const text = (key: string) => bootstrapTokenText(secret, key);
    if (text('token-id') !== id || !sameText(text('token-secret'), tokenSecret)) return undefined;
    if (bootstrapTokenExpiryMs(secret) <= clock.now()) return undefined;
    if (text('usage-bootstrap-authentication') !== 'true') return undefined;
    const extra = text('auth-extra-groups')
      .split(',')
      .filter((group) => group !== '');
    if (!extra.every((group) => groupPattern.test(group))) return undefined;
    return {
      name: `${dialect.users.bootstrapPrefix}${id}`,
      groups: [dialect.groups.bootstrappers, ...extra],
      method: 'bootstrap-token',
    };
  }
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
