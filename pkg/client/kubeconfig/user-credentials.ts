/** Credentials of a user entry in a client config file. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { ExecCredentials, execConfigOf } from '#client/kubeconfig/exec-credentials.js';
import { execMetrics } from '#client/kubeconfig/exec-metrics.js';
import { childProcessPlugins, type PluginRunner } from '#client/kubeconfig/exec-plugin.js';
import { type Cluster, inlineOrFile, KubeconfigError, type User } from '#client/kubeconfig/file.js';
import { OidcToken, oidcConfigOf } from '#client/kubeconfig/oidc.js';
import type { ReadFile } from '#daemon/certificates/certificate-files.js';
import { FileToken, staticToken, type TlsSource, type TokenSource } from '#http/client/credentials.js';

export interface UserContext {
  readonly name: string;
  /** Name of the config in messages. */
  readonly source: string;
  /** The entry's file, where renewed tokens are written. */
  readonly file: string | undefined;
  readonly clock: Clock;
  readonly readFile: ReadFile;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly plugins: PluginRunner | undefined;
  readonly metrics: Registry | undefined;
  readonly proxy: URL | undefined;
  /** Including its server. */
  readonly cluster: Cluster & { readonly server: string };
}

interface Pem {
  readonly inline: Buffer | undefined;
  readonly file: string | undefined;
}

export interface UserCredentials {
  readonly certificate: Pem;
  readonly key: Pem;
  readonly token?: TokenSource;
  /** Replaces the certificate in `base` by one from elsewhere. */
  readonly tls?: (base: TlsSource) => TlsSource;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** Throws KubeconfigError for an unusable entry. */
export function credentialsOf(user: User, context: UserContext): UserCredentials {
  const where = `${context.source}: user ${JSON.stringify(context.name)}`;
  const headers = { ...basic(user), ...impersonation(user, where) };
  const common = {
    certificate: inlineOrFile(user, 'client-certificate'),
    key: inlineOrFile(user, 'client-key'),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  };
  if (user.exec !== undefined && user['auth-provider'] !== undefined) {
    throw new KubeconfigError(`${where}: exec and auth-provider cannot be used together`);
  }
  // A token in the entry takes precedence over the plugin's.
  const fixed = ownToken(user, context);
  if (user.exec !== undefined) {
    const { clock, readFile, env, plugins, metrics, cluster, proxy } = context;
    const exec = new ExecCredentials(execConfigOf(user.exec, where), {
      clock,
      readFile,
      cluster,
      proxy,
      plugins: plugins ?? childProcessPlugins(env),
      ...(metrics === undefined ? {} : { metrics: execMetrics(metrics, clock) }),
    });
    return { ...common, token: fixed ?? exec, tls: (base) => exec.tls(base) };
  }
  const provider = user['auth-provider'];
  if (provider !== undefined) {
    if (provider.name !== 'oidc') {
      throw new KubeconfigError(
        `${where}: auth-provider ${JSON.stringify(provider.name)} is not supported; use its credential plugin in "exec"`,
      );
    }
    const oidc = new OidcToken(oidcConfigOf(provider.config ?? {}, where), context);
    return { ...common, token: fixed ?? oidc };
  }
  return fixed === undefined ? common : { ...common, token: fixed };
}

/** The file takes precedence, since it rotates. */
function ownToken(user: User, { clock, readFile }: UserContext): TokenSource | undefined {
  const { token = '', tokenFile = '' } = user;
  if (tokenFile !== '') return new FileToken({ path: tokenFile, clock, readFile });
  return token === '' ? undefined : staticToken(token);
}

function basic({ username = '', password = '' }: User): Record<string, string> {
  if (username === '' && password === '') return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

function impersonation(user: User, where: string): Record<string, string | string[]> {
  const { as = '', 'as-uid': uid = '', 'as-groups': groups = [], 'as-user-extra': extra = {} } = user;
  if (as === '') {
    if (uid === '' && groups.length === 0 && Object.keys(extra).length === 0) return {};
    throw new KubeconfigError(`${where}: requesting uid, groups or user-extra without impersonating a user`);
  }
  const headers: Record<string, string | string[]> = { 'impersonate-user': as };
  if (uid !== '') headers['impersonate-uid'] = uid;
  if (groups.length > 0) headers['impersonate-group'] = [...groups];
  for (const [key, values] of Object.entries(extra)) {
    if (!Array.isArray(values))
      throw new KubeconfigError(`${where}: as-user-extra ${JSON.stringify(key)} is not a list`);
    headers[`impersonate-extra-${headerKey(key)}`] = values.map(String);
  }
  return headers;
}

/** Percent-encodes characters that are not allowed in header names, as servers expect. */
function headerKey(key: string): string {
  return [...Buffer.from(key)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9!#$&'*+.^_`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
