/**
 * The server's credentials at webhooks: users of a kubeconfig file, by the webhook's address (1.24:
 * `util/webhook/authentication.go`).
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import { withPartialTrustChain } from '#apimachinery/net/tls-trust.js';
import type { TlsMaterial, TlsSource, TokenSource } from '#http/client/credentials.js';

export interface WebhookUser {
  readonly tls: TlsSource;
  readonly token?: TokenSource | undefined;
  readonly headers?: Readonly<Record<string, string | string[]>> | undefined;
}

export interface WebhookCredentials {
  /** Users by name: `hooks.shop.svc`, `hooks.shop.svc:8443`, `*.svc`, `*`. */
  readonly users: ReadonlyMap<string, WebhookUser>;
  /** The user of the current context, for all other webhooks. */
  readonly current?: WebhookUser | undefined;
}

/** Undefined: calls without credentials. `target`: the webhook's host, with its port if the address has one. */
export function userFor({ users, current }: WebhookCredentials, target: string): WebhookUser | undefined {
  const steps = target.split('.');
  const names = [target, ...steps.slice(1).map((_, i) => `*.${steps.slice(i + 1).join('.')}`)];
  for (const name of names) {
    const user = users.get(name);
    if (user !== undefined) return user;
  }
  if (target.endsWith(':443')) return userFor({ users, current }, target.slice(0, -':443'.length));
  return users.get('*') ?? current;
}

export interface CallCredentials {
  readonly context: SecureContext | undefined;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** One user's credentials for servers of one CA bundle; parsed again only when the user's files have changed. */
export class CredentialSource {
  readonly #user: WebhookUser;
  readonly #ca: string | undefined;
  #cached: { readonly material: TlsMaterial; readonly context: SecureContext } | undefined;

  constructor(user: WebhookUser, ca: string | undefined) {
    this.#user = user;
    this.#ca = ca;
  }

  async callCredentials(): Promise<CallCredentials> {
    const { tls, token, headers = {} } = this.#user;
    const [material, bearer] = await Promise.all([tls.current(), token?.token()]);
    if (this.#cached?.material !== material) {
      const { cert, key } = material;
      const context = createSecureContext(
        withPartialTrustChain({
          ...(this.#ca === undefined ? {} : { ca: this.#ca }),
          ...(cert === undefined ? {} : { cert }),
          ...(key === undefined ? {} : { key }),
        }),
      );
      this.#cached = { material, context };
    }
    const authorization = bearer === undefined || bearer === '' ? {} : { authorization: `Bearer ${bearer}` };
    return { context: this.#cached.context, headers: { ...headers, ...authorization } };
  }
}
